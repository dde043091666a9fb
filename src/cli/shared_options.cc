// SPDX-License-Identifier: Apache-2.0
#include "cli/shared_options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "base/bytes.h"
#include "base/duration.h"
#include "base/text.h"

namespace glovebox::cli {

namespace {

template <typename Value>
std::string with_default(const char* description, const Value& value) {
  return std::string(description) + " [default: " + value + "]";
}

}  // namespace

void add_shared_options(CLI::App& command, SharedOptionsText& options, const char* cpu_time) {
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

  const Limits defaults;
  const auto limit = [&command](const char* name, auto& value, const std::string& description,
                                const char* type) {
    command.add_option(name, value, description)->type_name(type)->group(kLimitOptions);
  };
  limit("--cpu-time", options.cpu_time, std::string(cpu_time) + " [default: none]", "TIME");
  limit("--memory", options.memory,
        with_default("Memory limit, files in the sandbox included", to_string(defaults.memory)),
        "SIZE");
  limit("--cpus", options.cpus,
        with_default("Processors' worth of time: 0.5, 2",
                     std::to_string(static_cast<int>(defaults.cpus))),
        "N");
  limit("--pids", options.pids,
        with_default("Maximum number of processes and threads", std::to_string(defaults.pids)),
        "N");
  limit("--disk", options.disk, with_default("Disk space limit", to_string(defaults.disk)), "SIZE");
  limit("--inodes", options.inodes,
        with_default("Maximum number of files", std::to_string(defaults.inodes)), "N");
  limit(
      "--open-files", options.open_files,
      with_default("Maximum number of open files per process", std::to_string(defaults.open_files)),
      "N");
  limit("--io-rate", options.io_rate, "Disk I/O limit in bytes per second: 10M [default: none]",
        "SIZE");

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

Result<LimitWishes> parse_limits(const SharedOptionsText& options) {
  LimitWishes limits;
  limits.cpu_time = GB_TRY(parse_time(options.cpu_time, "--cpu-time"));
  limits.memory = GB_TRY(parse_size(options.memory, "--memory"));
  limits.disk = GB_TRY(parse_size(options.disk, "--disk"));
  limits.cpus = options.cpus;
  limits.pids = options.pids;
  limits.inodes = options.inodes;
  limits.open_files = options.open_files;
  return limits;
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
