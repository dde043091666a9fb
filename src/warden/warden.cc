// SPDX-License-Identifier: Apache-2.0
#include "warden/warden.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "base/sys/descriptors.h"
#include "base/sys/send_now.h"

namespace glovebox::warden {
namespace {

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000U +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

Warden::Warden(UniqueFd control,
               UniqueFd children,
               UniqueFd archiver,
               Machine machine,
               Starter starter,
               Workspace workspace,
               RootChanges root)
    : control_(std::move(control)),
      children_(std::move(children)),
      archiver_(std::move(archiver)),
      machine_(std::move(machine)),
      starter_(starter),
      workspace_(std::move(workspace)),
      root_(std::move(root)) {}

void Warden::send(Reply type, std::uint32_t channel, std::string_view payload) {
  outgoing_.add(type, channel, payload);
}

void Warden::announce(std::string report) {
  ready_ = std::move(report);
  send(Reply::kReady, 0, ready_);
}

void Warden::announce_when_described(std::string report) {
  ready_ = std::move(report);
  is_undescribed_ = true;
}

void Warden::run() {
  while (flush() && serve()) {
    if (resting_) {
      continue;
    }
    for (auto next = processes_.begin(); next != processes_.end();) {
      const auto current = next++;
      if (current->second.claimed) {
        finish(current->first, current->second);
      }
    }
  }
  starter_.kill_everything();
}

bool Warden::serve() {
  // Whose each descriptor is; rebuilt in each turn, because there are few.
  enum class Kind { kControl, kChildren, kInlet, kOutlet, kTimer };
  struct Source {
    Kind kind;
    std::uint32_t channel = 0;
    std::size_t index = 0;  // Of the stream.
  };
  std::vector<pollfd> polled;
  std::vector<Source> sources;
  const auto watch = [&](const UniqueFd& fd, short events, Source source) {
    if (fd) {
      polled.push_back({fd.get(), events, 0});
      sources.push_back(source);
    }
  };
  watch(control_, static_cast<short>(POLLIN | (outgoing_.empty() ? 0 : POLLOUT)), {Kind::kControl});
  if (!resting_) {
    watch(children_, POLLIN, {Kind::kChildren});
  }
  const bool room = outgoing_.has_room();
  for (auto& [channel, process] : processes_) {
    if (resting_) {
      break;
    }
    for (std::size_t i = 0; i < process.streams.in.size(); ++i) {
      if (!process.streams.in[i].waiting.empty()) {
        watch(process.streams.in[i].fd, POLLOUT, {Kind::kInlet, channel, i});
      }
    }
    for (std::size_t i = 0; i < process.streams.out.size(); ++i) {
      if (room && process.streams.out[i].window > 0) {
        watch(process.streams.out[i].fd, POLLIN, {Kind::kOutlet, channel, i});
      }
    }
    watch(process.timer, POLLIN, {Kind::kTimer, channel});
  }
  if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
    return false;
  }
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents == 0) {
      continue;
    }
    const auto [kind, channel, index] = sources[i];
    if (kind == Kind::kControl) {
      if ((polled[i].revents & ~POLLOUT) != 0 && !read_control()) {
        return false;
      }
      continue;
    }
    if (kind == Kind::kChildren) {
      reap();
      continue;
    }
    const auto found = processes_.find(channel);
    if (found == processes_.end()) {
      continue;
    }
    Process& process = found->second;
    if (kind == Kind::kInlet) {
      process.streams.pass_input(index, outgoing_);
    } else if (kind == Kind::kOutlet) {
      process.streams.pass_output(index, process.may_write(), outgoing_);
    } else if (process.timer) {
      process.hit_deadline = true;
      process.timer.reset();
      end_guests();
    }
  }
  return true;
}

bool Warden::flush() {
  const auto sent = sys::send_now(control_.get(), outgoing_.bytes());
  outgoing_.drop(sent.value_or(0));
  return sent.has_value();
}

bool Warden::read_control() {
  const std::span<char> bytes = read_buffer;
  const ssize_t got = sys::receive_with(control_.get(), bytes, passed_, MSG_DONTWAIT);
  if (got < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  if (got == 0) {
    return false;
  }
  parser_.feed({bytes.data(), static_cast<std::size_t>(got)});
  Frame frame;
  for (;;) {
    const auto more = parser_.next(frame);
    if (!more) {
      return false;
    }
    if (!more.value()) {
      return true;
    }
    handle(frame);
  }
}

void Warden::reap() {
  std::array<signalfd_siginfo, 8> ignored;
  (void)!::read(children_.get(), ignored.data(), sizeof ignored);
  for (bool reaped = false;; reaped = true) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG | WUNTRACED, &usage);
    if (pid == 0 && ending_ && reaped) {
      starter_.kill_everything();  // Whatever those had still given birth to is there now.
    }
    if (pid < 0) {
      ending_ = false;  // All are our children once their own parents are gone.
    }
    if (pid <= 0) {
      return;
    }
    const std::uint64_t cpu_us = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
    const bool stopped = WIFSTOPPED(status);
    bool known = stopped || stopped_.erase(pid) > 0;
    for (auto& [channel, process] : processes_) {
      if (process.pid == pid && !process.exited && (!stopped || process.waits)) {
        known = true;
        process.exited = true;
        process.wait_status = status;
        if (stopped) {
          process.stopped = true;
          process.wait_status = 0;
          stopped_.insert(pid);
        }
        process.cpu_us = cpu_us;
        process.max_rss = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
        process.timer.reset();
        process.streams.end_process();
        if (process.alone) {
          end_guests();
        }
      }
    }
    if (!known) {
      orphans_cpu_us_ += cpu_us;
    }
  }
}

void Warden::end_guests() {
  starter_.kill_everything();
  ending_ = starter_.misses_births();
}

// After the process of a run has ended, a child in the background may still hold its stream open. A
// process that was alone takes its children with it, so the end of its streams comes; if it has
// stopped, that is not awaited.
bool Warden::Process::may_write() const { return !stopped && (streams.beside || alone || !exited); }

void Warden::report_changes(std::uint32_t channel) {
  FilesReport report = workspace_.changes();
  root_.add_to(report);
  send(Reply::kFiles, channel, report.encode());
}

void Warden::finish(std::uint32_t channel, Process& process) {
  if (process.settling) {
    process.streams.pass_output(0, process.may_write(), outgoing_);
    process.streams.pass_output(1, process.may_write(), outgoing_);
    if (!process.streams.owing()) {
      send(Reply::kSettled, channel, {});
      process.settling = false;
    }
  }
  if (!process.exited || ending_) {
    return;
  }
  if (!process.reported) {
    for (std::size_t i = 0; i < process.streams.out.size(); ++i) {
      process.streams.pass_output(i, process.may_write(), outgoing_);
    }
    if (process.streams.beside ? process.streams.owing() : process.streams.open()) {
      return;
    }
    EndedReport report{.wait_status = process.wait_status,
                       .cpu_us = process.cpu_us + std::exchange(orphans_cpu_us_, 0),
                       .max_rss = process.max_rss,
                       .deadline = process.hit_deadline};
    report_disk(report);
    if (process.tells_changes) {
      report_changes(channel);
    }
    send(Reply::kEnded, channel, report.encode());
    process.reported = true;
  }
  if (!process.streams.open()) {
    processes_.erase(channel);
  }
}

void Warden::report_disk(EndedReport& report) const {
  const Workspace::DiskUse disk = workspace_.disk_use();
  report.disk_used = disk.bytes;
  report.inodes_used = disk.inodes;
  report.disk_full = disk.bytes_full;
  report.inodes_full = disk.inodes_full;
}

}  // namespace glovebox::warden
