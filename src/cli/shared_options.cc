// SPDX-License-Identifier: Apache-2.0
#include "cli/shared_options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <utility>

#include "base/bytes.h"
#include "base/duration.h"
#include "base/text.h"

namespace glovebox::cli {

void add_shared_options(CLI::App& command,
                        SharedOptionsText& options,
                        std::map<std::string, std::string> limits) {
  command
      .add_option(
          "--tier", options.tier,
          "Require exactly this isolation tier (microvm, gvisor, wasm, native, docker, landlock), "
          "or 'auto' for the strongest that works")
      ->type_name("TIER")
      ->group(kIsolationOptions);
  command
      .add_option("--min-tier", options.min_tier, "Require this isolation tier or a stronger one")
      ->type_name("TIER")
      ->group(kIsolationOptions);

  // Each command decides how much of the output it keeps.
  std::set<std::string> left_out = {"output"};
  if (!limits.contains("time")) {
    left_out.insert("time");
  }
  add_limit_options(command, options.limits,
                    {.group = kLimitOptions,
                     .left_out = std::move(left_out),
                     .help = std::move(limits),
                     .here = true});

  command
      .add_option("--env", options.env,
                  "Environment variable: NAME=VALUE, or NAME for its value here; repeatable")
      ->type_name("NAME[=VALUE]")
      ->group(kFileOptions);
  command
      .add_option("--file", options.files,
                  "File or directory to copy in; DIR:. copies what is in it; repeatable")
      ->type_name("SRC[:DST]")
      ->group(kFileOptions);
}

Result<std::optional<std::chrono::milliseconds>> parse_time(const std::string& text,
                                                            const char* option) {
  if (text.empty()) {
    return std::optional<std::chrono::milliseconds>();
  }
  const auto time = parse_duration(text);
  if (!time) {
    return Error(time.error()).within(option);
  }
  if (time->count() == 0) {
    return Error(ErrorCode::kInvalid, std::string(option) + " must be greater than zero",
                 "use 1ms or more, or leave it out");
  }
  return std::optional(*time);
}

Result<std::optional<Bytes>> parse_size(const std::string& text, const char* option) {
  if (text.empty()) {
    return std::optional<Bytes>();
  }
  const auto size = parse_bytes(text);
  if (!size) {
    return Error(size.error()).within(option);
  }
  return std::optional(*size);
}

Result<Environment> parse_environment(const SharedOptionsText& options) {
  Environment env;
  for (const std::string& text : options.env) {
    const std::size_t equals = text.find('=');
    if (equals == 0) {
      return Error(ErrorCode::kInvalid, "--env: '" + printable(text) + "' is not NAME=VALUE",
                   "for example: --env MODE=test");
    }
    if (equals == std::string::npos) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
      const char* const own = std::getenv(text.c_str());
      if (own == nullptr) {
        return Error(ErrorCode::kInvalid, "--env: '" + printable(text) + "' is not set here",
                     "set it, or pass a value: --env " + printable(text) + "=VALUE");
      }
      env.emplace_back(text, own);
      continue;
    }
    env.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return env;
}

}  // namespace glovebox::cli
