// SPDX-License-Identifier: Apache-2.0
// The options of every command that opens a sandbox here: its walls, limits, environment and files.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/limit_options.h"
#include "language/language.h"
#include "spec/command.h"
#include "spec/network_rules.h"

namespace CLI {
class App;
}  // namespace CLI

namespace glovebox::cli {

// Their groups in --help.
inline constexpr const char* kIsolationOptions = "Isolation";
inline constexpr const char* kNetworkOptions = "Network (default: none)";
inline constexpr const char* kLimitOptions = "Limits (defaults depend on the language)";
inline constexpr const char* kFileOptions = "Files and environment";

// As good as no limit, and a number that every kernel interface can express.
inline constexpr std::chrono::hours kNoTimeLimit(24 * 365);

// As typed. A text is empty if the option is absent: values typed empty are refused before.
struct SharedOptionsText {
  std::string tier;
  std::string min_tier;
  LimitsText limits;
  std::vector<std::string> allow_net;
  std::vector<std::string> deny_net;
  std::vector<std::string> secrets;
  std::vector<std::string> headers;
  std::string net_sent;
  std::string net_received;
  std::string net_rate;
  std::optional<std::uint64_t> net_connections;
  std::vector<std::string> env;
  std::vector<std::string> files;
};

// `limits` is the help for limits whose meaning differs between commands: always for "cpu_time",
// and for "time" if that is offered at all.
void add_shared_options(CLI::App& command,
                        SharedOptionsText& options,
                        std::map<std::string, std::string> limits);

// Not for every command: judged programs, for example, have no network.
void add_network_options(CLI::App& command, SharedOptionsText& options);

// Parses "30s" or "512M" for the named option; nothing if `text` is empty.
Result<std::optional<std::chrono::milliseconds>> parse_time(const std::string& text,
                                                            const char* option);
Result<std::optional<Bytes>> parse_size(const std::string& text, const char* option);

// What a sandbox reaches, and the values of the secrets that the rules name.
struct NetworkOptions {
  std::optional<NetworkRules> rules;  // Nothing if none was given: then there is no network.
  SecretValues secrets;
};
// Reads secrets from our own environment and from files. No error shows a value.
Result<NetworkOptions> parse_network(const SharedOptionsText& options);
Result<Environment> parse_environment(const SharedOptionsText& options);

}  // namespace glovebox::cli
