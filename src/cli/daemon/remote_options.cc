// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/remote_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "base/duration.h"
#include "base/text.h"
#include "cli/input_file.h"
#include "spec/limit_fields.h"
#include "spec/network_rules.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostCode = 8UL << 20;

template <typename T>
Result<T> parse_limit(const std::string& text) {
  if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    return parse_duration(text);
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return parse_bytes(text);
  } else {
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      return Error(ErrorCode::kInvalid, "invalid number '" + printable(text) + "'");
    }
    return number;
  }
}

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

// "--open-files"
std::string option_of(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

}  // namespace

void add_limit_options(CLI::App& command, RemoteLimitsText& limits) {
  each_wish([&](const auto& field) {
    using Value = typename std::decay_t<decltype(field)>::Value;
    command.add_option(option_of(field.name), limits[field.name], field.help)
        ->type_name(std::is_same_v<Value, std::chrono::milliseconds> ? "TIME"
                    : std::is_same_v<Value, Bytes>                   ? "SIZE"
                                                                     : "N")
        ->group("Limits");
  });
}

Result<Json> limits_json(const RemoteLimitsText& limits) {
  Json json = Json::object();
  std::optional<Error> wrong;
  each_wish([&](const auto& field) {
    using Value = typename std::decay_t<decltype(field)>::Value;
    const auto found = limits.find(field.name);
    if (wrong || found == limits.end() || found->second.empty()) {
      return;
    }
    const auto value = parse_limit<Value>(found->second);
    if (!value) {
      wrong = Error(value.error()).within(option_of(field.name));
    } else if constexpr (std::is_same_v<Value, std::chrono::milliseconds>) {
      json[field.name] = static_cast<double>(value->count()) / 1000;
    } else {
      json[field.name] = to_plain(*value);
    }
  });
  return wrong ? Result<Json>(*wrong) : std::move(json);
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
