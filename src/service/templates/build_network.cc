// SPDX-License-Identifier: Apache-2.0
#include "service/templates/build_network.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace glovebox {
namespace {

// A command may try as often as it likes; the log names each place once, and no more than these.
constexpr std::size_t kMostNamed = 64;
constexpr std::size_t kMostHinted = 3;

// As a rule has it; empty if the request could not be understood.
std::string place_of(const ConnectionRecord& connection) {
  if (connection.host.empty()) {
    return {};
  }
  const std::string host = printable(to_utf8(connection.host.substr(0, 256)));
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(connection.port);
}

std::string line_about(const ConnectionRecord& connection) {
  const std::string place = place_of(connection);
  const bool denied = connection.verdict == ConnectionRecord::Verdict::kDenied;
  const std::string why = printable(to_utf8(connection.reason.substr(0, 512)));
  return "network: " + (place.empty() ? std::string("a request") : place) +
         (denied ? " was refused" : " was not reached") + (why.empty() ? "" : ": " + why) + "\n";
}

}  // namespace

void BuildEgress::prepare(SandboxSpec& spec, const BuildNetwork& network) {
  if (lets_out(network.rules)) {
    Egress::prepare(spec);
  }
}

Result<BuildEgress> BuildEgress::start(Sandbox& sandbox,
                                       const BuildNetwork& network,
                                       BuildMonitor& monitor) {
  if (!lets_out(network.rules)) {
    return BuildEgress();
  }
  const auto tell = [&monitor,
                     told = std::set<std::string>()](const ConnectionRecord& connection) mutable {
    if (connection.verdict != ConnectionRecord::Verdict::kAllowed && told.size() < kMostNamed) {
      std::string line = line_about(connection);
      if (const auto [at, is_new] = told.insert(std::move(line)); is_new) {
        monitor.log(*at);
      }
    }
  };
  return BuildEgress(GB_TRY(Egress::start(sandbox, network.rules, {}, tell, network.public_only)));
}

std::string BuildEgress::end() {
  if (!egress_) {
    return "a build has no network unless rules are given with --allow-net, or 'network' over HTTP";
  }
  egress_->end();
  std::vector<std::string> refused;
  for (const ConnectionRecord& connection : egress_->record().connections) {
    std::string place = place_of(connection);
    // If the name was not the reason, says which addresses.
    if (connection.rule.ends_with(" addresses")) {
      place += " (" + printable(connection.rule) + ")";
    }
    if (connection.verdict == ConnectionRecord::Verdict::kDenied && !connection.host.empty() &&
        refused.size() < kMostHinted && std::ranges::find(refused, place) == refused.end()) {
      refused.push_back(std::move(place));
    }
  }
  std::string hint;
  for (const std::string& place : refused) {
    hint += (hint.empty() ? "the rules of this build refused " : ", ") + place;
  }
  return hint.empty() ? hint
                      : hint + "; name hosts with --allow-net, and addresses that are not public";
}

}  // namespace glovebox
