// SPDX-License-Identifier: Apache-2.0
#include "sandbox/call_watch.h"

#include <linux/seccomp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/sys/raw.h"
#include "sandbox/asked_program.h"
#include "sandbox/guests_seen.h"
#include "sandbox/policy/watched.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;
using Clock = GuestLedger::Clock;

constexpr auto kWindow = 10ms;
constexpr int kMostInWindow = 32;
constexpr int kWindowMs = 10;
constexpr std::size_t kEvents = 64;

// A filter's listener. Only the thread of the server uses what is not const.
struct Listener {
  UniqueFd fd;
  std::shared_ptr<GuestLedger> ledger;
  ino_t home = 0;  // The pid namespace of its sandbox.
  bool has_warden = false;
  Clock::time_point window{};
  int in_window = 0;
};

// Zero where there is none any more.
ino_t pid_namespace_of(pid_t pid) {
  struct stat home {};
  return ::stat((procfs::directory_of(pid) + "/ns/pid").c_str(), &home) == 0 ? home.st_ino : 0;
}

ino_t home_of(int warden) {
  const auto pid = static_cast<pid_t>(
      procfs::number_after("/proc/self/fdinfo/" + std::to_string(warden), "\nPid:"));
  return pid > 0 ? pid_namespace_of(pid) : 0;
}

class Server {
 public:
  // Never ends, as little as the guests that wait for it may.
  static Server& instance() {
    static auto* const kServer = new Server;
    return *kServer;
  }

  void add(UniqueFd fd, ino_t home) {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t key = ++last_key_;
    auto listener = std::make_shared<Listener>(Listener{
        .fd = std::move(fd), .ledger = std::make_shared<GuestLedger>(), .home = home});
    epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
    // Without room for it, the listener is closed and its sandbox cannot start.
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener->fd.get(), &event) == 0) {
      if (home != 0) {
        by_home_[home] = listener->ledger;
      }
      listeners_.emplace(key, std::move(listener));
    }
  }

  void name(std::string id, ino_t home) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = by_home_.find(home); found != by_home_.end()) {
      by_name_[std::move(id)] = found->second;
    }
  }

  std::shared_ptr<GuestLedger> ledger_named(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    const auto found = by_name_.find(id);
    return found == by_name_.end() ? nullptr : found->second;
  }

 private:
  Server() {
    seccomp_notif_sizes sizes{};
    GB_CHECK(epoll_);
    (void)sys::raw(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
    question_.resize(std::max(sizeof(seccomp_notif), std::size_t{sizes.seccomp_notif}));
    answer_.resize(std::max(sizeof(seccomp_notif_resp), std::size_t{sizes.seccomp_notif_resp}));
    std::thread([this] { run(); }).detach();
  }

  [[noreturn]] void run() {
    std::array<epoll_event, kEvents> events{};
    for (;;) {
      const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                     parked_.empty() ? -1 : kWindowMs);
      unpark(Clock::now());
      for (int i = 0; i < count; ++i) {
        serve(events[static_cast<std::size_t>(i)]);
      }
    }
  }

  std::shared_ptr<Listener> find(std::uint64_t key) {
    const std::scoped_lock lock(mutex_);
    const auto found = listeners_.find(key);
    return found == listeners_.end() ? nullptr : found->second;
  }

  // One question of each that has some: so none waits for all of another's.
  void serve(const epoll_event& event) {
    const std::shared_ptr<Listener> listener = find(event.data.u64);
    if (!listener) {
      return;
    }
    if ((event.events & EPOLLIN) == 0) {
      remove(event.data.u64, *listener);
      return;
    }
    const Clock::time_point now = Clock::now();
    if (now - listener->window >= kWindow) {
      listener->window = now;
      listener->in_window = 0;
    }
    if (++listener->in_window > kMostInWindow) {
      watch_for(*listener, event.data.u64, 0);
      parked_.push_back(event.data.u64);
      return;
    }
    answer_one(*listener, now);
  }

  // Nobody is left who could ask.
  void remove(std::uint64_t key, const Listener& listener) {
    {
      const std::scoped_lock lock(mutex_);
      (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener.fd.get(), nullptr);
      // The number of its namespace may be another sandbox's by now.
      const auto is_its = [&](const auto& entry) { return entry.second == listener.ledger; };
      std::erase_if(by_home_, is_its);
      std::erase_if(by_name_, is_its);
      listeners_.erase(key);
    }
    listener.ledger->close();
  }

  void unpark(Clock::time_point now) {
    std::erase_if(parked_, [&](std::uint64_t key) {
      const std::shared_ptr<Listener> listener = find(key);
      if (listener && now - listener->window < kWindow) {
        return false;
      }
      if (listener) {
        watch_for(*listener, key, EPOLLIN);
      }
      return true;
    });
  }

  void watch_for(const Listener& listener, std::uint64_t key, std::uint32_t what) {
    epoll_event event{.events = what, .data = {.u64 = key}};
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener.fd.get(), &event);
  }

  void answer_one(Listener& listener, Clock::time_point now) {
    std::ranges::fill(question_, std::byte{0});
    // There is one, or was: the kernel counts those of the killed, and answers ENOENT.
    if (::ioctl(listener.fd.get(), SECCOMP_IOCTL_NOTIF_RECV, question_.data()) != 0) {
      return;
    }
    seccomp_notif asked{};
    std::memcpy(&asked, question_.data(), sizeof asked);
    const std::optional<policy::WatchedCall> call = policy::watched_call(asked.data.nr);
    const bool is_start = call && call->error == 0;
    if (is_start && !std::exchange(listener.has_warden, true)) {
      // The first is the set-up, which becomes the warden.
    } else if (call) {
      try {
        note(listener, asked, *call, now);
      } catch (const std::exception&) {  // No memory: it is answered all the same.
      }
    }
    seccomp_notif_resp response{.id = asked.id, .val = 0, .error = 0, .flags = 0};
    if (is_start) {
      response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
      response.error = call ? -call->error : -EPERM;
    }
    std::ranges::fill(answer_, std::byte{0});
    std::memcpy(answer_.data(), &response, sizeof response);
    (void)::ioctl(listener.fd.get(), SECCOMP_IOCTL_NOTIF_SEND, answer_.data());
  }

  // Of the sandbox that the process is in; nothing where nobody keeps one.
  std::shared_ptr<GuestLedger> ledger_of(const Listener& listener, pid_t pid) {
    const ino_t place = pid_namespace_of(pid);
    const std::scoped_lock lock(mutex_);
    const auto found = by_home_.find(place);
    // In a namespace that a guest has made within its sandbox, it still is that sandbox's.
    return found == by_home_.end() ? listener.ledger : found->second;
  }

  void note(const Listener& listener,
            const seccomp_notif& asked,
            const policy::WatchedCall& call,
            Clock::time_point now) {
    const auto pid = static_cast<pid_t>(asked.pid);
    const std::shared_ptr<GuestLedger> ledger = ledger_of(listener, pid);
    if (call.error != 0 ? !ledger->count_refusal(call.name) : !ledger->count_program(now)) {
      return;
    }
    GuestAct act;
    if (call.error == 0) {
      act = read_asked_program(pid, asked.data);
    } else {
      act = {.kind = GuestAct::Kind::kRefusedCall,
             .name = std::string(call.name),
             .by = name_of_process(pid)};
    }
    // While it waits for us, its number is nobody else's.
    std::uint64_t id = asked.id;
    if (::ioctl(listener.fd.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id) != 0) {
      act.words.clear();
      act.by.clear();
      if (call.error == 0) {
        act.name = "(a process that was killed)";
      }
    }
    ledger->tell_act(std::move(act));
  }

  const UniqueFd epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  std::vector<std::byte> question_;
  std::vector<std::byte> answer_;
  std::vector<std::uint64_t> parked_;  // Those that have asked enough for now. Of the thread.
  std::mutex mutex_;                   // Of what follows; held for a moment only.
  std::map<std::uint64_t, std::shared_ptr<Listener>> listeners_;
  std::map<ino_t, std::shared_ptr<GuestLedger>> by_home_;
  std::map<std::string, std::shared_ptr<GuestLedger>, std::less<>> by_name_;
  std::uint64_t last_key_ = 0;
};

std::atomic<bool> wanted{false};

}  // namespace

void watch_calls() { wanted = true; }

bool calls_are_watched() { return wanted; }

void serve_calls(UniqueFd listener, int warden) {
  Server::instance().add(std::move(listener), home_of(warden));
}

void name_watched(std::string id, int warden) {
  if (wanted) {
    Server::instance().name(std::move(id), home_of(warden));
  }
}

bool is_watched(std::string_view id) {
  return wanted && Server::instance().ledger_named(id) != nullptr;
}

bool tell_acts(std::string_view id, GuestLedger::Told told) {
  const auto ledger = wanted ? Server::instance().ledger_named(id) : nullptr;
  if (ledger) {
    ledger->tell(std::move(told));
  }
  return ledger != nullptr;
}

}  // namespace glovebox
