// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/watching.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace glovebox::mcp {
namespace {

constexpr long kLookEvery = 100'000'000;  // Nanoseconds.

}  // namespace

bool Watching::is_settled(const Subject& subject) {
  const bool over = subject.is_over();
  const auto version = subject.version();
  return !version || (over && *version == subject.told);
}

void Watching::set_clock() {
  const bool wanted = !std::ranges::all_of(subjects_, is_settled);
  if (!clock_ || wanted == runs_) {
    return;
  }
  itimerspec times{};
  if (wanted) {
    times.it_interval.tv_nsec = kLookEvery;
    times.it_value.tv_nsec = 1;
  }
  (void)::timerfd_settime(clock_.get(), 0, &times, nullptr);
  runs_ = wanted;
}

bool Watching::add(Subject subject) {
  const std::scoped_lock lock(mutex_);
  if (std::ranges::find(subjects_, subject.name, &Subject::name) != subjects_.end()) {
    return true;
  }
  if (subjects_.size() >= kMost) {
    return false;
  }
  subjects_.push_back(std::move(subject));
  set_clock();
  return true;
}

void Watching::remove(std::string_view name) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(subjects_, [&](const Subject& each) { return each.name == name; });
  set_clock();
}

int Watching::fd() {
  const std::scoped_lock lock(mutex_);
  if (!clock_) {
    clock_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    set_clock();
  }
  return clock_.get();
}

void Watching::tell(const std::function<void(std::string_view method, Json params)>& take) {
  std::vector<std::pair<std::string, Json>> changes;
  {
    const std::scoped_lock lock(mutex_);
    if (std::uint64_t ticks = 0; clock_) {
      (void)!::read(clock_.get(), &ticks, sizeof ticks);
    }
    std::erase_if(subjects_, [](const Subject& each) { return !each.version(); });
    for (Subject& each : subjects_) {
      // Read before the content: what changes in between is told again.
      if (const auto version = each.version(); version && *version != each.told) {
        each.told = *version;
        changes.emplace_back(each.method, each.params());
      }
    }
    set_clock();
  }
  for (auto& [method, params] : changes) {
    take(method, std::move(params));
  }
}

void Watching::repeat() {
  const std::scoped_lock lock(mutex_);
  for (Subject& each : subjects_) {
    each.told = 0;
  }
  set_clock();
}

bool Watching::is_over() {
  const std::scoped_lock lock(mutex_);
  return std::ranges::all_of(subjects_, is_settled);
}

}  // namespace glovebox::mcp
