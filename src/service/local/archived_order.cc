// SPDX-License-Identifier: Apache-2.0
#include "service/local/archived_order.h"

#include <algorithm>
#include <utility>

#include "base/json/json.h"
#include "spec/json/network_rules_json.h"
#include "store/json_columns.h"

namespace glovebox {
namespace {

using nlohmann::json;
using Milliseconds = std::chrono::milliseconds;

// As the door accepts them from a client.
constexpr std::size_t kMostMetadata = 64;
constexpr std::size_t kMostPolicies = 16;
constexpr std::int64_t kLongestTimeout = Milliseconds(std::chrono::hours(24 * 365)).count();

Error invalid(const std::string& what) {
  return {ErrorCode::kInvalid, "the archive's description of the sandbox is invalid: " + what,
          "use an archive that 'glovebox sandbox export' has written"};
}

bool is_variable(const std::pair<std::string, std::string>& variable) {
  return !variable.first.empty() && variable.first.find('=') == std::string::npos &&
         variable.first.find('\0') == std::string::npos &&
         variable.second.find('\0') == std::string::npos;
}

}  // namespace

Result<json> archived_order(const SandboxInfo& info,
                            const std::string& made_from,
                            const std::string& template_digest) {
  NetworkRules rules = info.network;
  rules.credentials = {};
  const std::string env = GB_TRY(json_column::from_environment(info.env));
  const std::string metadata = GB_TRY(json_column::from_map(info.metadata));
  const auto lifetime = std::chrono::duration_cast<Milliseconds>(info.expires - info.created);
  return json{{"template", made_from},
              {"template_digest", template_digest},
              {"tier", info.tier},
              {"disk", info.storage == Storage::kDisk},
              {"timeout_ms", std::clamp<std::int64_t>(lifetime.count(), 1, kLongestTimeout)},
              {"pause_on_timeout", info.on_timeout == OnTimeout::kPause},
              {"auto_resume", info.auto_resume},
              {"as_root", info.as_root},
              {"nested", info.nested},
              {"run_as", info.run_as},
              {"sudo", info.sudo},
              {"policies", info.policies},
              {"limits", json::parse(json_column::from_limits(info.limits))},
              {"env", json::parse(env)},
              {"metadata", json::parse(metadata)},
              {"network", json::parse(to_json(rules))}};
}

Result<SandboxRequest> read_archived_order(const json& order, std::string& template_digest) {
  SandboxRequest request;
  std::string problem;
  try {
    request.template_name = order.at("template");
    template_digest = order.at("template_digest");
    request.tier.exactly = order.at("tier");
    request.storage = order.at("disk").get<bool>() ? Storage::kDisk : Storage::kMemory;
    request.timeout = Milliseconds(
        std::clamp<std::int64_t>(order.at("timeout_ms").get<std::int64_t>(), 1, kLongestTimeout));
    request.on_timeout =
        order.at("pause_on_timeout").get<bool>() ? OnTimeout::kPause : OnTimeout::kKill;
    request.auto_resume = order.at("auto_resume");
    request.as_root = order.at("as_root");
    request.nested = order.at("nested");
    request.run_as = order.at("run_as");
    request.sudo = order.at("sudo");
    request.policies = order.at("policies").get<std::vector<std::string>>();
  } catch (const json::exception& wrong) {
    problem = wrong.what();
  }
  if (!problem.empty() || request.policies.size() > kMostPolicies) {
    return invalid(problem.empty() ? "too many policies" : problem);
  }
  const auto text = [&order](const char* name) { return order.value(name, json()).dump(); };
  auto limits = json_column::to_limits(text("limits"));
  auto env = json_column::to_environment(text("env"));
  auto metadata = json_column::to_map(text("metadata"));
  if (!limits || !env || !metadata || metadata->size() > kMostMetadata ||
      !std::ranges::all_of(*env, is_variable)) {
    return invalid("its limits, its environment or its metadata");
  }
  request.limits = {.memory = limits->memory,
                    .cpus = limits->cpus,
                    .pids = limits->pids,
                    .disk = limits->disk,
                    .inodes = limits->inodes};
  request.env = std::move(env).value();
  request.metadata = std::move(metadata).value();
  request.network = GB_TRY(parse_network_rules(text("network")));
  if (request.network.credentials != CredentialRules()) {
    return invalid("it names secrets");
  }
  return request;
}

}  // namespace glovebox
