// SPDX-License-Identifier: Apache-2.0
#include "service/templates/build_monitor.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"

namespace glovebox {
namespace {

constexpr std::size_t kMaxLog = 4UL << 20;

}  // namespace

BuildMonitor::BuildMonitor(BuildSink sink, BuildRoom room)
    : sink_(std::move(sink)),
      room_(std::move(room)),
      canceled_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      watcher_(&BuildMonitor::watch, this) {}

BuildMonitor::~BuildMonitor() {
  {
    const std::scoped_lock lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  watcher_.join();
}

// Requires: the mutex is held.
void BuildMonitor::tell(const BuildEvent& event) {
  if (wanted_ && !sink_(event)) {
    wanted_ = false;
    (void)::eventfd_write(canceled_.get(), 1);
  }
}

void BuildMonitor::progress(std::string text) {
  const std::scoped_lock lock(mutex_);
  tell({.kind = BuildEvent::Kind::kProgress,
        .step = ++step_,
        .steps = std::max(steps_, step_),
        .text = std::move(text)});
}

void BuildMonitor::log(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  if (logged_ >= kMaxLog) {
    return;
  }
  logged_ += text.size();
  tell({.kind = BuildEvent::Kind::kLog,
        .text = logged_ < kMaxLog ? to_utf8(text) : "… output truncated\n"});
}

bool BuildMonitor::wanted() const {
  const std::scoped_lock lock(mutex_);
  return wanted_;
}

void BuildMonitor::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; })) {
    tell({});
  }
}

}  // namespace glovebox
