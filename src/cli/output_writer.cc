// SPDX-License-Identifier: Apache-2.0
#include "cli/output_writer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "cli/command.h"
#include "spec/json/verdict_json.h"

namespace glovebox::cli {
namespace {

std::size_t head_of(Bytes limit) { return static_cast<std::size_t>(limit.count - limit.count / 2); }

std::string milliseconds(std::chrono::microseconds time) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f ms",
                      static_cast<double>(time.count()) / 1000);
  return text.data();
}

std::string wall_list(const Walls& walls) {
  std::string held;
  std::string absent;
  const auto add = [&](bool holds, const std::string& name) {
    std::string& list = holds ? held : absent;
    list += (list.empty() ? "" : ", ") + name;
  };
  add(walls.user_ns, "user namespace");
  add(walls.mount_ns, "private root");
  add(walls.pid_ns, "pid namespace");
  add(walls.net_ns, "no network");
  add(walls.ipc_ns, "ipc namespace");
  add(walls.uts_ns, "uts namespace");
  add(walls.cgroup_ns, "cgroup namespace");
  add(walls.seccomp != "none", "seccomp (" + walls.seccomp + ")");
  add(walls.landlock > 0, "Landlock ABI " + std::to_string(walls.landlock));
  add(walls.cgroup != "none", walls.cgroup == "none" ? "cgroup" : "cgroup " + walls.cgroup);
  add(walls.uid == "mapped", "mapped uid");
  add(walls.no_capabilities, "no capabilities");
  return "  walls held: " + held + "\n" +
         (absent.empty() ? std::string() : "  walls absent: " + absent + "\n");
}

}  // namespace

void write_fully(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      (void)::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

StreamPrinter::StreamPrinter(int fd, Bytes limit, bool strip_ansi)
    : fd_(fd), head_(head_of(limit)), strip_(strip_ansi) {}

void StreamPrinter::print(std::string_view bytes) {
  if (strip_) {
    write_fully(fd_, stripper_.strip(bytes));
  } else {
    write_fully(fd_, bytes);
  }
}

void StreamPrinter::pass(std::string_view bytes) {
  const std::string_view now = bytes.substr(0, std::min(bytes.size(), head_ - passed_));
  passed_ += now.size();
  print(now);
}

void StreamPrinter::finish(const Captured& captured) {
  print(std::string_view(captured.bytes).substr(std::min(passed_, captured.bytes.size())));
}

std::string summary(const OneShotResult& result, const std::string& out_directory) {
  const Verdict& verdict = result.verdict;
  std::string text = "── " + std::string(to_string(verdict.status));
  if (!verdict.limit.empty()) {
    text += " (" + verdict.limit + " limit)";
  }
  if (verdict.exit_code != 0) {
    text += ", exit status " + std::to_string(verdict.exit_code);
  }
  text += ", " + milliseconds(verdict.usage.wall) + " wall, " + milliseconds(verdict.usage.cpu) +
          " cpu, " + to_string(verdict.usage.memory_peak) + " memory\n";
  for (const FileChange& file : verdict.files) {
    const bool copied = std::ranges::find(result.copied_out, file.path) != result.copied_out.end();
    text += "  " + std::string(to_string(file.kind)) + " " +
            printable(copied ? out_directory + "/" + file.path : file.path) + " (" +
            to_string(Bytes{file.size}) + ")\n";
  }
  text += "  tier: " + verdict.tier + "\n" + wall_list(verdict.walls);
  for (const LimitReport& limit : verdict.limits) {
    if (limit.hit) {
      text += "  limit hit: " + limit.name + "\n";
    }
    if (!limit.enforced) {
      text += "  limit not enforced here: " + limit.name + "\n";
    }
  }
  for (const std::string& note : verdict.notes) {
    text += "  note: " + printable(note) + "\n";
  }
  if (verdict.verification) {
    text += "  verified: " + std::string(to_string(verdict.verification->status)) + "\n";
  }
  return text;
}

std::string timing_table(const Verdict& verdict) {
  std::string text;
  for (const Timing& timing : verdict.timings) {
    std::array<char, 64> line{};
    (void)std::snprintf(line.data(), line.size(), "  %-22.22s %8lld us\n", timing.step.c_str(),
                        static_cast<long long>(timing.took.count()));
    text += line.data();
  }
  return text;
}

int exit_status(const Verdict& verdict) {
  switch (verdict.status) {
    case Status::kTimeout:
      return kExitTimeout;
    case Status::kOutOfMemory:
      return kExitOutOfMemory;
    case Status::kRefused:
      return kExitRefused;
    case Status::kFailed:
      return kExitFailed;
    default:
      return verdict.exit_code;
  }
}

}  // namespace glovebox::cli
