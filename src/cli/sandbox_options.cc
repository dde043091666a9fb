// SPDX-License-Identifier: Apache-2.0
#include "cli/sandbox_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/duration.h"
#include "base/text.h"
#include "service/one_shot.h"

namespace glovebox::cli {
namespace {

// As good as none, and a number that every kernel interface can express.
constexpr std::chrono::hours kNoTimeLimit(24 * 365);

template <typename T>
Result<void> parse_into(std::optional<T>& target,
                        const std::string& text,
                        const char* option,
                        Result<T> (*parse)(std::string_view)) {
  if (text.empty()) {
    return {};
  }
  auto parsed = parse(text);
  if (!parsed) {
    return std::move(parsed).error().within(option);
  }
  target = std::move(parsed).value();
  return {};
}

Result<LimitDefaults> parse_limits(const SandboxOptionsText& options) {
  LimitDefaults limits;
  limits.cpu_time = GB_TRY(parse_time(options.cpu_time, "--cpu-time"));
  GB_TRY(parse_into(limits.memory, options.memory, "--memory", parse_bytes));
  GB_TRY(parse_into(limits.disk, options.disk, "--disk", parse_bytes));
  limits.cpus = options.cpus;
  limits.pids = options.pids;
  limits.inodes = options.inodes;
  limits.open_files = options.open_files;
  return limits;
}

Result<Environment> parse_environment(const std::vector<std::string>& texts) {
  Environment env;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error(ErrorCode::kInvalid, "--env: '" + printable(text) + "' is not NAME=VALUE",
                   "for example: --env MODE=test");
    }
    env.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return env;
}

}  // namespace

void add_options(CLI::App& command, SandboxOptionsText& options) {
  constexpr const char* kWalls = "Isolation";
  command
      .add_option("--tier", options.tier, "Require exactly this isolation tier: native, landlock")
      ->group(kWalls);
  command
      .add_option("--min-tier", options.min_tier, "Require this isolation tier or a stronger one")
      ->group(kWalls);

  constexpr const char* kLimits = "Limits (defaults depend on the language)";
  command.add_option("--cpu-time", options.cpu_time, "CPU time limit for each cell")
      ->group(kLimits);
  command.add_option("--memory", options.memory, "Memory limit: 512M")->group(kLimits);
  command.add_option("--cpus", options.cpus, "CPU limit: 0.5, 2")->group(kLimits);
  command.add_option("--pids", options.pids, "Maximum number of processes and threads")
      ->group(kLimits);
  command.add_option("--disk", options.disk, "Disk space limit: 256M")->group(kLimits);
  command.add_option("--inodes", options.inodes, "Maximum number of files")->group(kLimits);
  command
      .add_option("--open-files", options.open_files, "Maximum number of open files per process")
      ->group(kLimits);
  command.add_option("--io-rate", options.io_rate, "Disk I/O limit in bytes per second: 10M")
      ->group(kLimits);

  constexpr const char* kFiles = "Files and environment";
  command.add_option("--env", options.env, "Environment variable NAME=VALUE; repeatable")
      ->group(kFiles);
  command
      .add_option("--file", options.files, "File or directory to copy in, as SRC[:DST]; repeatable")
      ->group(kFiles);
  command
      .add_option("--packages", options.packages,
                  "Packages to install at the start: pip:NAME[==VERSION],npm:NAME[@VERSION]")
      ->group(kFiles);
  command
      .add_option("--package-source", options.package_sources,
                  "Directory of wheels or npm tarballs to install from, for --packages and for "
                  "cells; repeatable")
      ->group(kFiles);
  command
      .add_option("--package-index", options.package_indexes,
                  "Package index on a Unix socket for cells to install from: pip:SOCKET or "
                  "npm:SOCKET")
      ->group(kFiles);
}

void forbid_empty_values(CLI::App& command) {
  for (CLI::Option* const option : command.get_options()) {
    if (option->get_items_expected_max() > 0) {
      option->allow_extra_args(false);
      option->check([](const std::string& value) {
        return value.empty() ? "the value is empty" : std::string();
      });
    }
  }
}

Result<std::optional<std::chrono::milliseconds>> parse_time(const std::string& text,
                                                            const char* option) {
  std::optional<std::chrono::milliseconds> time;
  GB_TRY(parse_into(time, text, option, parse_duration));
  if (time && time->count() == 0) {
    return Error(ErrorCode::kInvalid, std::string(option) + " must be greater than zero",
                 "use 1ms or more, or leave it out");
  }
  return time;
}

Result<LiveSpec> make_live_spec(Language language, const SandboxOptionsText& options) {
  LiveSpec spec;
  spec.limits = run_limits(language, GB_TRY(parse_limits(options)));
  spec.limits.wall = kNoTimeLimit;
  std::optional<Bytes> io_rate;
  GB_TRY(parse_into(io_rate, options.io_rate, "--io-rate", parse_bytes));
  spec.limits.io_rate = io_rate.value_or(Bytes{0});
  GB_TRY(validate(spec.limits));
  spec.language = std::move(language);
  spec.tier = {.exactly = options.tier, .at_least = options.min_tier};
  spec.env = GB_TRY(parse_environment(options.env));
  for (const std::string& text : options.files) {
    spec.files.push_back(GB_TRY(parse_file_to_copy(text)));
  }
  spec.packages = {.requests = GB_TRY(parse_packages(options.packages)),
                   .sources = options.package_sources,
                   .indexes = GB_TRY(parse_package_indexes(options.package_indexes))};
  if (auto allowed = validate(spec.packages); !allowed) {
    return std::move(allowed).error().within("--packages");
  }
  return spec;
}

}  // namespace glovebox::cli
