// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/remote_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/input_file.h"
#include "spec/limit_fields.h"
#include "spec/network_rules.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostCode = 8UL << 20;

// NAME[=VARIABLE]@HOST[,HOST…]; the daemon checks the names.
Result<Json> secret_json(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos) {
    return Error(ErrorCode::kInvalid, "--secret: '" + printable(text) + "' names no host",
                 "for example: --secret GITHUB_TOKEN@api.github.com");
  }
  const std::string source = text.substr(0, at);
  const std::size_t equals = source.rfind('=');
  Json secret = {{"secret", source.substr(0, equals)}, {"hosts", Json::array()}};
  if (equals != std::string::npos) {
    secret["env"] = source.substr(equals + 1);
  }
  for (std::string_view rest = std::string_view(text).substr(at + 1);;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    auto target = CredentialTarget::parse(rest.substr(0, comma));
    if (!target) {
      return std::move(target).error().within("--secret");
    }
    secret["hosts"].push_back(target->to_text());
    if (comma == rest.size()) {
      return Result<Json>(std::move(secret));
    }
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<Json> limits_json(const LimitsText& limits) {
  const LimitWishes wishes = GB_TRY(parse_limits(limits));
  Json json = Json::object();
  each_wish([&](const auto& field) {
    const auto& value = wishes.*field.wish;
    if (!value) {
      return;
    }
    if constexpr (std::is_same_v<std::decay_t<decltype(*value)>, std::chrono::milliseconds>) {
      json[field.name] = static_cast<double>(value->count()) / 1000;
    } else {
      json[field.name] = to_plain(*value);
    }
  });
  return Result<Json>(std::move(json));
}

Result<Json> pairs_json(const std::vector<std::string>& texts, const char* option) {
  Json json = Json::object();
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error(ErrorCode::kInvalid,
                   std::string(option) + ": '" + printable(text) + "' is not NAME=VALUE",
                   "for example: " + std::string(option) + " MODE=test");
    }
    json[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return json;
}

void add_rule_options(CLI::App& command, RemoteNetworkText& rules, const std::string& who) {
  command
      .add_option("--allow-net,--allow-host", rules.allow,
                  "Let " + who +
                      " connect to HOST, *.HOST, ADDRESS or ADDRESS/BITS, with :PORT "
                      "for one port only, as far as the daemon allows; repeatable")
      ->type_name("RULE")
      ->allow_extra_args(false)
      ->group("Network (default: none)");
  command
      .add_option("--deny-net,--deny-host", rules.deny,
                  "Refuse what --allow-net would allow; repeatable")
      ->type_name("RULE")
      ->allow_extra_args(false)
      ->group("Network (default: none)");
}

void add_network_options(CLI::App& command, RemoteNetworkText& rules) {
  add_rule_options(command, rules, "programs");
  command
      .add_option(
          "--secret", rules.secrets,
          "NAME[=VARIABLE]@HOST[,HOST]: show a placeholder in VARIABLE, and send the stored "
          "secret NAME in its place to these hosts only; repeatable")
      ->type_name("SECRET")
      ->allow_extra_args(false)
      ->group("Network (default: none)");
}

Result<void> put_network(Json& request, const RemoteNetworkText& rules) {
  if (rules.allow.empty() && rules.deny.empty() && rules.secrets.empty()) {
    return {};
  }
  if (rules.allow.empty() && rules.secrets.empty()) {
    return Error(ErrorCode::kInvalid, "--deny-net requires --allow-net",
                 "leave it out: a sandbox reaches nothing that --allow-net does not name");
  }
  for (const auto& [texts, option] :
       {std::pair(&rules.allow, "--allow-net"), std::pair(&rules.deny, "--deny-net")}) {
    for (const std::string& text : *texts) {
      if (auto rule = NetworkRule::parse(text); !rule) {
        return std::move(rule).error().within(option);
      }
    }
  }
  request["network"] = {{"allow", rules.allow}, {"deny", rules.deny}};
  for (const std::string& text : rules.secrets) {
    request["network"]["secrets"].push_back(GB_TRY(secret_json(text)));
  }
  return {};
}

Result<std::string> read_program(const std::string& file) {
  return read_whole_input(file, kMostCode, "copy large data in with 'glovebox sandbox cp'");
}

}  // namespace glovebox::cli
