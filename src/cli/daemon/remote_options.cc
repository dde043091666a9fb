// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/remote_options.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "base/bytes.h"
#include "base/duration.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostCode = 8UL << 20;

Result<void> put_time(Json& json, const char* name, const std::string& text, const char* option) {
  if (!text.empty()) {
    const auto time = parse_duration(text);
    if (!time) {
      return Error(time.error()).within(option);
    }
    json[name] = static_cast<double>(time->count()) / 1000;
  }
  return {};
}

Result<void> put_size(Json& json, const char* name, const std::string& text, const char* option) {
  if (!text.empty()) {
    const auto size = parse_bytes(text);
    if (!size) {
      return Error(size.error()).within(option);
    }
    json[name] = size->count;
  }
  return {};
}

template <typename T>
Result<void> put_number(Json& json, const char* name, const std::string& text, const char* option) {
  if (!text.empty()) {
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      return Error(ErrorCode::kInvalid,
                   std::string(option) + ": invalid number '" + printable(text) + "'");
    }
    json[name] = number;
  }
  return {};
}

}  // namespace

void add_limit_options(CLI::App& command, RemoteLimitsText& limits) {
  constexpr const char* kLimits = "Limits";
  command.add_option("--time", limits.time, "Wall-clock time of one execution: 30s")
      ->group(kLimits);
  command.add_option("--cpu-time", limits.cpu_time, "CPU time of each process")->group(kLimits);
  command.add_option("--memory", limits.memory, "Memory limit: 512M")->group(kLimits);
  command.add_option("--cpus", limits.cpus, "CPU limit: 0.5, 2")->group(kLimits);
  command.add_option("--pids", limits.pids, "Maximum number of processes and threads")
      ->group(kLimits);
  command.add_option("--disk", limits.disk, "Disk space limit: 256M")->group(kLimits);
  command.add_option("--inodes", limits.inodes, "Maximum number of files")->group(kLimits);
  command.add_option("--open-files", limits.open_files, "Maximum number of open files per process")
      ->group(kLimits);
}

Result<Json> limits_json(const RemoteLimitsText& limits) {
  Json json = Json::object();
  GB_TRY(put_time(json, "time", limits.time, "--time"));
  GB_TRY(put_time(json, "cpu_time", limits.cpu_time, "--cpu-time"));
  GB_TRY(put_size(json, "memory", limits.memory, "--memory"));
  GB_TRY(put_number<double>(json, "cpus", limits.cpus, "--cpus"));
  GB_TRY(put_number<std::uint32_t>(json, "pids", limits.pids, "--pids"));
  GB_TRY(put_size(json, "disk", limits.disk, "--disk"));
  GB_TRY(put_number<std::uint32_t>(json, "inodes", limits.inodes, "--inodes"));
  GB_TRY(put_number<std::uint32_t>(json, "open_files", limits.open_files, "--open-files"));
  return json;
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

Result<std::string> read_program(const std::string& file) {
  const UniqueFd opened(file == "-" ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const int fd = file == "-" ? STDIN_FILENO : opened.get();
  std::string code;
  std::string piece(64UL * 1024, '\0');
  for (;;) {
    const ssize_t got = fd < 0 ? -1 : ::read(fd, piece.data(), piece.size());
    if (got < 0) {
      return Error(ErrorCode::kInvalid,
                   Error::from_errno("read '" + printable(file) + "'").message(),
                   "check the path and its permissions");
    }
    if (got == 0) {
      return code;
    }
    code.append(piece, 0, static_cast<std::size_t>(got));
    if (code.size() > kMostCode) {
      return Error(ErrorCode::kInvalid, "'" + printable(file) + "' is larger than 8 MiB",
                   "copy large data in with 'glovebox sandbox cp'");
    }
  }
}

}  // namespace glovebox::cli
