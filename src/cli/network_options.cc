// SPDX-License-Identifier: Apache-2.0
// What a sandbox on this machine can reach: --allow-net, --secret and so on.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/shared_options.h"

namespace glovebox::cli {
namespace {

Result<std::vector<NetworkRule>> read_rules(const std::vector<std::string>& texts,
                                            const char* option) {
  if (texts.size() > NetworkRules::kMaxRules) {
    return Error(ErrorCode::kInvalid, std::string(option) + ": more than " +
                                          std::to_string(NetworkRules::kMaxRules) + " rules");
  }
  std::vector<NetworkRule> list;
  for (const std::string& text : texts) {
    auto rule = NetworkRule::parse(text);
    if (!rule) {
      return std::move(rule).error().within(option);
    }
    list.push_back(std::move(rule).value());
  }
  return list;
}

// Without the line break that editors put at the end.
Result<std::string> read_secret_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) {
    return Error::from_errno("open '" + printable(path) + "'");
  }
  std::string text(CredentialRules::kMaxHeaderValue + 3, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno != EINTR) {
      return Error::from_errno("read '" + printable(path) + "'");
    }
    if (got == 0) {
      break;
    }
    size += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
  text.resize(size);
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  if (text.ends_with('\r')) {
    text.pop_back();
  }
  return text;
}

Result<std::string> read_variable(const std::string& name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr) {
    return Error(ErrorCode::kInvalid, "environment variable '" + printable(name) + "' is not set",
                 "set it before the command, or name a file: NAME=file:PATH@HOST");
  }
  return std::string(value);
}

// NAME[=env:VARIABLE|=file:PATH][@HOST[,HOST…]]. Text after an '=' without "env:" or "file:" might
// be a secret, so no error shows it.
Result<void> read_secret(const std::string& text, NetworkOptions& options) {
  constexpr const char* kForms =
      "use NAME@HOST, NAME=env:VARIABLE@HOST or NAME=file:PATH@HOST, for example "
      "GITHUB_TOKEN@api.github.com";
  const std::size_t at = text.rfind('@');
  const std::string source = text.substr(0, at);
  const std::size_t equals = source.find('=');
  const std::string name = source.substr(0, equals);
  if (!is_variable_name(name)) {
    return Error(ErrorCode::kInvalid, "--secret: the name is not that of an environment variable",
                 kForms);
  }
  if (options.secrets.contains(name)) {
    return Error(ErrorCode::kInvalid, "--secret: '" + name + "' is given twice",
                 "list its hosts with commas: " + name + "@HOST,HOST");
  }
  const std::string from = equals == std::string::npos ? "env:" + name : source.substr(equals + 1);
  Result<std::string> value =
      Error(ErrorCode::kInvalid,
            "'" + name + "' has a value on the command line, where others see it", kForms);
  if (from.starts_with("env:")) {
    value = read_variable(from.substr(4));
  } else if (from.starts_with("file:")) {
    value = read_secret_file(from.substr(5));
  }
  if (value) {
    if (auto fits = check_header_value(*value); !fits) {
      value = std::move(fits).error().within("'" + name + "'");
    }
  }
  if (!value) {
    return std::move(value).error().within("--secret");
  }
  options.secrets[name] = std::move(value).value();
  if (at == std::string::npos) {
    return {};
  }
  PlaceholderRule rule{.variable = name, .secret = name};
  for (std::string_view rest = std::string_view(text).substr(at + 1);;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    auto target = CredentialTarget::parse(rest.substr(0, comma));
    if (!target) {
      return std::move(target).error().within("--secret " + name);
    }
    rule.targets.push_back(std::move(target).value());
    if (comma == rest.size()) {
      break;
    }
    rest.remove_prefix(comma + 1);
  }
  if (rule.targets.size() > CredentialRules::kMaxTargets) {
    return Error(ErrorCode::kInvalid, "--secret " + name + ": more than " +
                                          std::to_string(CredentialRules::kMaxTargets) + " hosts");
  }
  options.rules->credentials.placeholders.push_back(std::move(rule));
  return {};
}

// HOST: NAME: VALUE
Result<void> read_header(const std::string& text, NetworkOptions& options) {
  constexpr std::string_view kBetween = ": ";
  const std::size_t first = text.find(kBetween);
  const std::size_t second =
      first == std::string::npos ? first : text.find(kBetween, first + kBetween.size());
  if (second == std::string::npos) {
    return Error(ErrorCode::kInvalid, "--inject-header needs a host, a header and a value",
                 "for example: --inject-header 'api.example.com: Authorization: Bearer {TOKEN}'");
  }
  HeaderRule rule{.name = text.substr(first + 2, second - first - 2),
                  .value = text.substr(second + 2)};
  const auto check = [&]() -> Result<void> {
    rule.target = GB_TRY(CredentialTarget::parse(text.substr(0, first)));
    GB_TRY(check_header_name(rule.name));
    for (const std::string& name : GB_TRY(secrets_in(rule.value))) {
      if (!options.secrets.contains(name)) {
        return Error(ErrorCode::kInvalid, "no --secret '" + printable(name) + "'",
                     "add --secret " + printable(name));
      }
    }
    (void)GB_TRY(fill_in(rule.value, options.secrets));
    return {};
  };
  if (auto valid = check(); !valid) {
    return std::move(valid).error().within("--inject-header");
  }
  options.rules->credentials.headers.push_back(std::move(rule));
  return {};
}

Result<void> read_credentials(const SharedOptionsText& options, NetworkOptions& network) {
  if (options.secrets.size() > CredentialRules::kMaxPlaceholders ||
      options.headers.size() > CredentialRules::kMaxHeaders) {
    return Error(ErrorCode::kInvalid, "more than 64 secrets or injected headers");
  }
  for (const std::string& text : options.secrets) {
    GB_TRY(read_secret(text, network));
  }
  for (const std::string& text : options.headers) {
    GB_TRY(read_header(text, network));
  }
  const std::vector<std::string> used = secrets_of(network.rules->credentials);
  for (const auto& [name, value] : network.secrets) {
    if (std::ranges::find(used, name) == used.end()) {
      return Error(ErrorCode::kInvalid, "--secret '" + name + "' is for no host",
                   "name its hosts, as in " + name +
                       "@api.example.com, or use it in an "
                       "--inject-header");
    }
  }
  return choose_placeholders(network.rules->credentials);
}

Result<NetworkBudget> read_budget(const SharedOptionsText& options) {
  NetworkBudget budget{.connections = options.net_connections};
  for (const auto& [text, name, field] :
       {std::tuple(&options.net_sent, "--net-sent", &NetworkBudget::sent),
        std::tuple(&options.net_received, "--net-received", &NetworkBudget::received),
        std::tuple(&options.net_rate, "--net-rate", &NetworkBudget::rate)}) {
    if (const auto size = GB_TRY(parse_size(*text, name))) {
      budget.*field = size->count;
    }
  }
  if (auto valid = check_budget(budget); !valid) {
    return std::move(valid).error().within("--net-rate");
  }
  return budget;
}

}  // namespace

void add_network_options(CLI::App& command, SharedOptionsText& options) {
  command
      .add_option(
          "--allow-net,--allow-host", options.allow_net,
          "Let programs connect to HOST, *.HOST, ADDRESS or ADDRESS/BITS, with :PORT for one "
          "port only, through a proxy; repeatable")
      ->type_name("RULE")
      ->group(kNetworkOptions);
  command
      .add_option("--deny-net,--deny-host", options.deny_net,
                  "Refuse what --allow-net would allow; repeatable")
      ->type_name("RULE")
      ->group(kNetworkOptions);
  command
      .add_option(
          "--secret", options.secrets,
          "NAME[=env:VARIABLE|=file:PATH]@HOST[,HOST]: show a placeholder in variable NAME, "
          "and send the secret in its place to these hosts only; repeatable")
      ->type_name("SECRET")
      ->group(kNetworkOptions);
  command
      .add_option("--inject-header", options.headers,
                  "'HOST: NAME: VALUE': set a header of all requests to HOST; {NAME} in VALUE "
                  "stands for a --secret; repeatable")
      ->type_name("HEADER")
      ->group(kNetworkOptions);
  command.add_option("--net-connections", options.net_connections, "Limit on connections, in all")
      ->type_name("N")
      ->group(kNetworkOptions);
  command.add_option("--net-sent", options.net_sent, "Limit on bytes sent, in all")
      ->type_name("SIZE")
      ->group(kNetworkOptions);
  command.add_option("--net-received", options.net_received, "Limit on bytes received, in all")
      ->type_name("SIZE")
      ->group(kNetworkOptions);
  command
      .add_option("--net-rate", options.net_rate, "Limit on bytes per second, in each direction")
      ->type_name("SIZE")
      ->group(kNetworkOptions);
}

Result<NetworkOptions> parse_network(const SharedOptionsText& options) {
  NetworkOptions network;
  const NetworkBudget budget = GB_TRY(read_budget(options));
  if (options.allow_net.empty() && options.secrets.empty() && options.headers.empty()) {
    if (!options.deny_net.empty()) {
      return Error(ErrorCode::kInvalid, "--deny-net requires --allow-net",
                   "leave it out: a sandbox reaches nothing that --allow-net does not name");
    }
    if (budget != NetworkBudget{}) {
      return Error(ErrorCode::kInvalid, "a limit of the network requires --allow-net",
                   "leave it out: without rules a sandbox has no network");
    }
    return network;
  }
  network.rules.emplace();
  network.rules->allow = GB_TRY(read_rules(options.allow_net, "--allow-net"));
  network.rules->deny = GB_TRY(read_rules(options.deny_net, "--deny-net"));
  network.rules->budget = budget;
  GB_TRY(read_credentials(options, network));
  allow_credential_hosts(*network.rules);
  return network;
}

}  // namespace glovebox::cli
