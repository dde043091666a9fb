// SPDX-License-Identifier: Apache-2.0
#include "service/runs/warm_analyser.h"

#include <string>
#include <utility>
#include <vector>

namespace glovebox {
namespace {

const std::string kConfinedAnalyser = "analyser/glovebox-analyser";
const std::vector<std::string> kFromStandardInput = {"-"};

}  // namespace

WarmAnalyser::~WarmAnalyser() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (starter_.joinable()) {
    starter_.join();
  }
}

Result<void> WarmAnalyser::run(confined::Job job) {
  job.program = kConfinedAnalyser;
  job.arguments = kFromStandardInput;
  auto taken = take();
  auto done = taken ? taken->run(job) : confined::run_confined(job);
  want_another(std::move(taken));
  return done;
}

std::optional<confined::WaitingProgram> WarmAnalyser::take() {
  const std::lock_guard lock(mutex_);
  auto taken = std::move(waiting_);
  waiting_.reset();
  return taken;
}

void WarmAnalyser::want_another(std::optional<confined::WaitingProgram> used) {
  const std::lock_guard lock(mutex_);
  if (used) {
    used_.push_back(*std::move(used));
  }
  wanted_ = true;
  if (!starter_.joinable()) {
    starter_ = std::thread([this] { keep_one(); });
  }
  changed_.notify_all();
}

// A process dies with the thread that started it, so one thread starts them all.
void WarmAnalyser::keep_one() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return wanted_ || ending_; });
    if (ending_) {
      return;
    }
    wanted_ = false;
    auto used = std::exchange(used_, {});
    const bool lacking = !waiting_;
    lock.unlock();
    std::optional<confined::WaitingProgram> next;
    if (lacking) {
      if (auto started = confined::WaitingProgram::start(kConfinedAnalyser, kFromStandardInput)) {
        next.emplace(*std::move(started));
      }
    }
    used.clear();
    lock.lock();
    if (next) {
      waiting_.emplace(*std::move(next));
    }
  }
}

}  // namespace glovebox
