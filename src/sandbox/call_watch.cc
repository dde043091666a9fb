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
// How often to look at deferred answers, however many questions come meanwhile.
constexpr auto kLookEvery = 1ms;
constexpr std::size_t kEvents = 64;

// The guests of one sandbox. Only the server's thread uses anything but the ledger.
struct Guests {
  GuestLedger ledger{};
  Clock::time_point window{};
  int in_window = 0;

  // Whether one more of them is answered now.
  bool admit(Clock::time_point now) {
    if (now - window >= kWindow) {
      window = now;
      in_window = 0;
    }
    return in_window < kMostInWindow && ++in_window > 0;
  }
};

// A filter's listener. Likewise.
struct Listener {
  UniqueFd fd;
  std::shared_ptr<Guests> guests;  // Of the sandbox that it was made for.
  bool has_warden = false;
};

// An answer that waits until its sandbox may have more answers.
struct Deferred {
  std::shared_ptr<Listener> listener;
  std::shared_ptr<Guests> guests;
  seccomp_notif_resp response;
};

// Zero if the process is gone.
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
    auto listener = std::make_shared<Listener>();
    listener->fd = std::move(fd);
    listener->guests = std::make_shared<Guests>();

    epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
    // Without room for it, the listener is closed and its sandbox cannot start.
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener->fd.get(), &event) == 0) {
      if (home != 0) {
        by_home_[home] = listener->guests;
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

  std::shared_ptr<Guests> guests_named(std::string_view id) {
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
                                     deferred_.empty() ? -1 : kWindowMs);
      const Clock::time_point now = Clock::now();
      if (now - looked_ >= kLookEvery) {
        looked_ = now;
        std::erase_if(deferred_, [&](const Deferred& each) {
          return each.guests->admit(now) && answer(*each.listener, each.response);
        });
      }
      for (int i = 0; i < count; ++i) {
        serve(events[static_cast<std::size_t>(i)], now);
      }
    }
  }

  std::shared_ptr<Listener> find(std::uint64_t key) {
    const std::scoped_lock lock(mutex_);
    const auto found = listeners_.find(key);
    return found == listeners_.end() ? nullptr : found->second;
  }

  // One question for each event, so no listener waits for all questions of another.
  void serve(const epoll_event& event, Clock::time_point now) {
    const std::shared_ptr<Listener> listener = find(event.data.u64);
    if (listener && (event.events & EPOLLIN) == 0) {
      remove(event.data.u64, *listener);
    } else if (listener) {
      answer_one(listener, now);
    }
  }

  // Nobody is left who could ask.
  void remove(std::uint64_t key, const Listener& listener) {
    {
      const std::scoped_lock lock(mutex_);
      (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener.fd.get(), nullptr);
      // The number of its namespace may be another sandbox's by now.
      const auto is_its = [&](const auto& entry) { return entry.second == listener.guests; };
      std::erase_if(by_home_, is_its);
      std::erase_if(by_name_, is_its);
      listeners_.erase(key);
    }
    listener.guests->ledger.close();
  }

  void answer_one(const std::shared_ptr<Listener>& listener, Clock::time_point now) {
    std::ranges::fill(question_, std::byte{0});
    // There is a question, or was: the kernel counts those of killed processes, and answers ENOENT.
    if (::ioctl(listener->fd.get(), SECCOMP_IOCTL_NOTIF_RECV, question_.data()) != 0) {
      return;
    }
    seccomp_notif asked{};
    std::memcpy(&asked, question_.data(), sizeof asked);
    const std::optional<policy::WatchedCall> call = policy::watched_call(asked.data.nr);
    const bool is_start = call && call->error == 0;
    seccomp_notif_resp response{.id = asked.id, .val = 0, .error = 0, .flags = 0};
    if (is_start) {
      response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
      response.error = call ? -call->error : -EPERM;
    }
    // The first is the set-up, which becomes the warden.
    const bool is_ours = is_start && !std::exchange(listener->has_warden, true);
    try {
      const std::shared_ptr<Guests> guests = guests_of(*listener, static_cast<pid_t>(asked.pid));
      if (call && !is_ours) {
        note(*listener, guests->ledger, asked, *call, now);
      }
      if (!guests->admit(now)) {
        deferred_.push_back({.listener = listener, .guests = guests, .response = response});
        return;
      }
    } catch (const std::exception&) {  // No memory: answered anyway.
    }
    answer(*listener, response);
  }

  // Always true; a process that has been killed meanwhile needs no answer.
  bool answer(const Listener& listener, const seccomp_notif_resp& response) {
    std::ranges::fill(answer_, std::byte{0});
    std::memcpy(answer_.data(), &response, sizeof response);
    (void)::ioctl(listener.fd.get(), SECCOMP_IOCTL_NOTIF_SEND, answer_.data());
    return true;
  }

  // The guests of the sandbox that the process is in, even if it is in a namespace that a guest has
  // made within that sandbox.
  std::shared_ptr<Guests> guests_of(const Listener& listener, pid_t pid) {
    const ino_t place = pid_namespace_of(pid);
    const std::scoped_lock lock(mutex_);
    const auto found = by_home_.find(place);
    return found == by_home_.end() ? listener.guests : found->second;
  }

  static void note(const Listener& listener,
                   GuestLedger& ledger,
                   const seccomp_notif& asked,
                   const policy::WatchedCall& call,
                   Clock::time_point now) {
    const auto pid = static_cast<pid_t>(asked.pid);
    if (call.error != 0 ? !ledger.count_refusal(call.name) : !ledger.count_program(now)) {
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
    ledger.tell_act(std::move(act));
  }

  const UniqueFd epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  std::vector<std::byte> question_;
  std::vector<std::byte> answer_;
  std::vector<Deferred> deferred_;  // In order of arrival. For the thread only, as the next one.
  Clock::time_point looked_{};
  std::mutex mutex_;  // Guards what follows; held for a moment only.
  std::map<std::uint64_t, std::shared_ptr<Listener>> listeners_;
  std::map<ino_t, std::shared_ptr<Guests>> by_home_;
  std::map<std::string, std::shared_ptr<Guests>, std::less<>> by_name_;
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
  return wanted && Server::instance().guests_named(id) != nullptr;
}

bool tell_acts(std::string_view id, GuestLedger::Told told) {
  const auto guests = wanted ? Server::instance().guests_named(id) : nullptr;
  if (guests) {
    guests->ledger.tell(std::move(told));
  }
  return guests != nullptr;
}

}  // namespace glovebox
