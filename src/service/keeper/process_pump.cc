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

#include "service/keeper/follower.h"
#include "service/keeper/held_process.h"

namespace glovebox::keeper {

ProcessPump::ProcessPump(Sandbox& sandbox) : sandbox_(sandbox) {}

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

void ProcessPump::add(std::unique_ptr<Follower> follower) {
  {
    const std::scoped_lock lock(mutex_);
    if (!lost_) {
      added_followers_.push_back(std::move(follower));
    }
  }
  if (follower) {
    follower->lose();
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
    // There is no memory: these processes are lost, and nothing else is.
  }
  std::vector<std::unique_ptr<Follower>> told_nothing;
  {
    const std::scoped_lock lock(mutex_);
    lost_ = true;
    for (auto& process : std::exchange(added_, {})) {
      process->lose();
    }
    told_nothing.swap(added_followers_);
  }
  for (const auto& [raw, process] : std::exchange(tended_, {})) {
    process->lose();
  }
  for (const auto& follower : told_nothing) {
    follower->lose();
  }
  for (const auto& [raw, follower] : std::exchange(followers_, {})) {
    follower->lose();
  }
}

void ProcessPump::loop() {
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   milliseconds_left());
    bool all = count <= 0;
    bool living = true;
    std::vector<void*> ready;
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
        ready.push_back(what);
      }
    }
    {
      const std::scoped_lock lock(mutex_);
      for (auto& process : std::exchange(added_, {})) {
        void* const raw = process.get();
        tended_.emplace(raw, std::move(process));
      }
      for (auto& follower : std::exchange(added_followers_, {})) {
        void* const raw = follower.get();
        followers_.emplace(raw, std::move(follower));
      }
      living = living && !stopping_;
    }
    if (!living) {
      return;
    }
    look_after(ready, all);
  }
}

void ProcessPump::look_after(const std::vector<void*>& ready, bool all) {
  bool news = all;
  const auto look = [&](auto found) {
    news = true;
    return found->second->look(*this) ? std::next(found) : tended_.erase(found);
  };
  if (all) {
    for (auto next = tended_.begin(); next != tended_.end();) {
      next = look(next);
    }
  }
  for (void* const what : ready) {
    // Both streams of a process may be ready, and the first look may be its last.
    if (const auto found = tended_.find(what); found != tended_.end() && !all) {
      (void)look(found);
    } else if (const auto follows = followers_.find(what); follows != followers_.end()) {
      tell(*follows->second);
    }
  }
  if (news) {
    for (auto next = followers_.begin(); next != followers_.end();) {
      Follower& follower = *(next++)->second;
      tell(follower);
    }
  }
}

// Once there is something to wait for, epoll reports that the caller went, or has room for more.
void ProcessPump::tell(Follower& follower) {
  const Follower::Waits waits = follower.tell();
  if (waits == Follower::Waits::kOver) {
    followers_.erase(&follower);  // Its descriptor goes with it.
    return;
  }
  if (follower.watched() == waits) {
    return;
  }
  epoll_event event{
      .events = EPOLLRDHUP | (waits == Follower::Waits::kForRoom ? std::uint32_t{EPOLLOUT} : 0U),
      .data = {.ptr = &follower}};
  const int how = follower.watched() ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (::epoll_ctl(epoll_.get(), how, follower.fd(), &event) != 0) {
    followers_.erase(&follower);
    return;
  }
  follower.set_watched(waits);
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
