// SPDX-License-Identifier: Apache-2.0
#include "cli/output_writer.h"

#include <poll.h>
#include <string.h>  // NOLINT(modernize-deprecated-headers): sigabbrev_np is not in <cstring>.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <iostream>

#include "cli/command.h"
#include "cli/limit_options.h"
#include "spec/json/verdict_json.h"

namespace glovebox::cli {
namespace {

std::string in_ms_text(std::chrono::microseconds time) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f ms",
                      static_cast<double>(time.count()) / 1000);
  return text.data();
}

std::string wall_list(const Walls& walls, bool detailed) {
  std::string held;
  std::string absent;
  std::size_t count = 0;
  const auto add = [&](bool holds, const std::string& name) {
    std::string& list = holds ? held : absent;
    list += (list.empty() ? "" : ", ") + name;
    count += holds ? 1 : 0;
  };
  add(walls.user_ns, "user namespace");
  add(walls.mount_ns, "private root");
  add(walls.pid_ns, "pid namespace");
  add(walls.net_ns, "network namespace");
  add(walls.ipc_ns, "ipc namespace");
  add(walls.uts_ns, "uts namespace");
  add(walls.cgroup_ns, "cgroup namespace");
  add(walls.seccomp != "none", "seccomp (" + walls.seccomp + ")");
  add(walls.landlock > 0, "Landlock ABI " + std::to_string(walls.landlock));
  add(walls.cgroup != "none", walls.cgroup == "none" ? "cgroup" : "cgroup " + walls.cgroup);
  add(walls.uid == "mapped", "mapped uid");
  add(walls.no_capabilities, "no capabilities");
  return "  walls held: " +
         (detailed         ? held
          : absent.empty() ? "all " + std::to_string(count)
                           : std::to_string(count)) +
         "\n" + (absent.empty() ? std::string() : "  walls missing: " + absent + "\n");
}

// The limit of that name as a person writes it, or nothing.
std::string limit_text(const Verdict& verdict, std::string_view name) {
  const auto found = std::ranges::find(verdict.limits, name, &LimitReport::name);
  if (found == verdict.limits.end()) {
    return {};
  }
  if (name == "time" || name == "cpu_time") {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%g s", found->value);
    return text.data();
  }
  const auto value = static_cast<std::uint64_t>(found->value);
  return name == "memory" || name == "disk" ? to_string(Bytes{value}) : std::to_string(value);
}

// How the program ended, and what to do if a limit ended it.
std::string ending(const Verdict& verdict) {
  const auto reached = [&](const std::string& what, const std::string& name) {
    return what + " (limit " + limit_text(verdict, name) + "; raise it with " + limit_option(name) +
           ")";
  };
  const auto out_of_memory = [&]() -> std::string {
    const auto found = std::ranges::find(verdict.limits, "memory", &LimitReport::name);
    if (found == verdict.limits.end()) {
      return "out of memory";
    }
    const Bytes limit{static_cast<std::uint64_t>(found->value)};
    // The known peak may be a sample, or missing.
    const Bytes used{std::min(verdict.usage.memory_peak.count, limit.count)};
    const std::uint64_t mebibytes =
        std::max<std::uint64_t>(1, limit.count >> 19);  // Twice as much.
    const std::string more = mebibytes % 1024 == 0 ? std::to_string(mebibytes / 1024) + "G"
                                                   : std::to_string(mebibytes) + "M";
    return "out of memory: used " + to_string(used) + " of " + to_string(limit) +
           " (raise with --memory " + more + ")";
  };
  switch (verdict.status) {
    case Status::kTimeout:
      return verdict.limit == "cpu_time" ? reached("out of CPU time", "cpu_time")
                                         : reached("out of time", "time");
    case Status::kOutOfMemory:
      if (verdict.limit == "locks") {
        return "too many file locks";
      }
      return verdict.limit == "socket_queues"
                 ? "too much data or too many connections waiting in sockets"
                 : out_of_memory();
    case Status::kPidsLimit:
      return reached("too many processes", "pids");
    case Status::kDiskFull: {
      const auto inodes = std::ranges::find(verdict.limits, "inodes", &LimitReport::name);
      const bool many = inodes != verdict.limits.end() && inodes->hit;
      return many ? reached("too many files", "inodes") : reached("out of disk space", "disk");
    }
    case Status::kSignaled: {
      const int number = verdict.signal.value_or(0);
      const char* const name = ::sigabbrev_np(number);
      return "killed by signal " + std::to_string(number) +
             (name == nullptr ? std::string() : " (SIG" + std::string(name) + ")");
    }
    case Status::kError:
      return "exit status " + std::to_string(verdict.exit_code);
    case Status::kCompileError:
      return "compilation failed";
    default:
      return std::string(to_string(verdict.status));
  }
}

}  // namespace

bool write_fully(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      (void)::poll(&ready, 1, -1);
    } else if (errno == EPIPE) {
      return false;
    } else if (errno != EINTR) {
      if (fd == STDOUT_FILENO) {
        std::cout.setstate(std::ios_base::badbit);
      }
      return true;
    }
  }
  return true;
}

bool StreamPrinter::pass(std::string_view bytes) {
  passed_ = passed_ || !bytes.empty();
  switch (controls_) {
    case Controls::kPass:
      return write_fully(fd_, bytes);
    case Controls::kColours:
      return write_fully(fd_, filter_.pass(bytes));
    case Controls::kNone:
      return write_fully(fd_, stripper_.strip(bytes));
  }
  return true;
}

void StreamPrinter::finish(const Captured& captured) {
  if (!passed_) {
    pass(captured.bytes);
  }
  if (controls_ == Controls::kColours && passed_) {
    // What follows is ours, and must not be hidden.
    write_fully(fd_, "\x1b[0m");
  }
}

std::string summary(const OneShotResult& result, const std::string& out_directory, bool detailed) {
  const Verdict& verdict = result.verdict;
  std::string text = "── " + ending(verdict) + ", " + in_ms_text(verdict.usage.wall) + " wall, " +
                     in_ms_text(verdict.usage.cpu) + " CPU, " +
                     to_string(verdict.usage.memory_peak) + " memory\n";
  for (const FileChange& file : verdict.files) {
    const bool copied = std::ranges::find(result.copied_out, file.path) != result.copied_out.end();
    text += "  " + std::string(to_string(file.kind)) + " " +
            printable(copied ? out_directory + "/" + file.path : file.path) + " (" +
            to_string(Bytes{file.size}) + ")\n";
  }
  text += "  tier: " + verdict.tier + "\n" + wall_list(verdict.walls, detailed);
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
    const Verdict& check = *verdict.verification;
    text += check.status == Status::kOk ? "  verified: ok\n"
                                        : "  verification failed: " + ending(check) + "\n";
  }
  for (const CheckReport& check : verdict.checks) {
    text += "  " + std::string(check.passed ? "checked: " : "check failed: ") + check.check +
            (check.what.empty() ? "" : " '" + printable(to_utf8(check.what)) + "'") +
            (check.passed ? "" : ": " + printable(to_utf8(check.reason))) + "\n";
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
