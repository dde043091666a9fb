// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/process_pump.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include "service/keeper/held_process.h"

namespace glovebox::keeper {

ProcessPump::~ProcessPump() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) {
    poke();
    thread_.join();
  }
}

Result<void> ProcessPump::start() {
  const std::scoped_lock lock(mutex_);
  if (thread_.joinable()) {
    return {};
  }
  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event woken{.events = EPOLLIN, .data = {.ptr = this}};
  epoll_event heard{.events = EPOLLIN, .data = {.ptr = &sandbox_}};
  if (!epoll_ || !wake_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &woken) != 0 ||
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, sandbox_.events_fd(), &heard) != 0) {
    return Error::from_errno("watch the processes of a sandbox");
  }
  try {
    thread_ = std::thread(&ProcessPump::run, this);
  } catch (const std::system_error& error) {
    return Error::from_errno("start a thread", error.code().value());
  }
  return {};
}

void ProcessPump::add(std::shared_ptr<HeldProcess> process) {
  {
    const std::scoped_lock lock(mutex_);
    if (!lost_) {
      added_.push_back(std::move(process));
    }
  }
  if (process) {
    process->lose();
    return;
  }
  poke();
}

void ProcessPump::poke() const { (void)::eventfd_write(wake_.get(), 1); }

void ProcessPump::watch(int fd, HeldProcess& process, bool wanted) const {
  epoll_event event{.events = EPOLLIN, .data = {.ptr = &process}};
  (void)::epoll_ctl(epoll_.get(), wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event);
}

void ProcessPump::run() {
  try {
    loop();
  } catch (const std::exception&) {
    // Of memory that is not to be had: these processes are lost, and nothing else is.
  }
  {
    const std::scoped_lock lock(mutex_);
    lost_ = true;
    for (auto& process : std::exchange(added_, {})) {
      process->lose();
    }
  }
  for (const auto& [raw, process] : std::exchange(tended_, {})) {
    process->lose();
  }
}

void ProcessPump::loop() {
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   milliseconds_left());
    bool all = count <= 0;
    bool living = true;
    std::vector<HeldProcess*> ready;
    for (int i = 0; i < count; ++i) {
      void* const what = events.at(static_cast<std::size_t>(i)).data.ptr;
      if (what == this) {
        eventfd_t times = 0;
        (void)::eventfd_read(wake_.get(), &times);
        all = true;
      } else if (what == &sandbox_) {
        living = sandbox_.hear();
        all = true;
      } else {
        ready.push_back(static_cast<HeldProcess*>(what));
      }
    }
    {
      const std::scoped_lock lock(mutex_);
      for (auto& process : std::exchange(added_, {})) {
        HeldProcess* const raw = process.get();
        tended_.emplace(raw, std::move(process));
      }
      living = living && !stopping_;
    }
    if (!living) {
      return;
    }
    look_after(std::move(ready), all);
  }
}

void ProcessPump::look_after(std::vector<HeldProcess*> ready, bool all) {
  if (all) {
    ready.clear();
    for (const auto& [raw, process] : tended_) {
      ready.push_back(raw);
    }
  }
  for (HeldProcess* const process : ready) {
    // Both of its streams may be ready, and the first look its last.
    const auto found = tended_.find(process);
    if (found != tended_.end() && !process->look(*this)) {
      tended_.erase(found);
    }
  }
}

int ProcessPump::milliseconds_left() const {
  if (sandbox_.paused()) {
    return -1;  // Its clock stands still.
  }
  auto due = GuestClock::Base::time_point::max();
  for (const auto& [raw, process] : tended_) {
    due = std::min(due, process->due());
  }
  if (due == GuestClock::Base::time_point::max()) {
    return -1;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - sandbox_.clock().now());
  constexpr std::chrono::milliseconds kLongest{3'600'000};
  return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), kLongest).count());
}

}  // namespace glovebox::keeper
