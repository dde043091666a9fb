// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/work_queue.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

namespace glovebox::keeper {

WorkQueue::~WorkQueue() {
  while (!wait(std::chrono::hours(1))) {
  }
}

void WorkQueue::post(const std::string& tenant, Job job) {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->lines[tenant].waiting.push_back(std::move(job));
    ++state_->jobs;
  }
  start_threads(state_);
}

bool WorkQueue::wait(std::chrono::milliseconds patience) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + patience;
  const auto done = [this] { return state_->jobs == 0; };
  do {
    start_threads(state_);  // For jobs that no thread could be made for.
    std::unique_lock lock(state_->mutex);
    if (state_->changed.wait_until(lock, std::min(deadline, Clock::now() + 1s), done)) {
      return true;
    }
  } while (Clock::now() < deadline);
  return false;
}

std::size_t WorkQueue::size() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->jobs;
}

// Tenants take turns. Requires the lock.
bool WorkQueue::take(State& state, std::string& tenant, Job& job) {
  auto next = state.lines.upper_bound(state.last);
  for (std::size_t seen = 0; seen < state.lines.size(); ++seen, ++next) {
    if (next == state.lines.end()) {
      next = state.lines.begin();
    }
    Line& line = next->second;
    if (line.waiting.empty() || line.running >= state.bounds.of_tenant) {
      continue;
    }
    tenant = next->first;
    job = std::move(line.waiting.front());
    line.waiting.pop_front();
    ++line.running;
    state.last = tenant;
    return true;
  }
  return false;
}

void WorkQueue::start_threads(const std::shared_ptr<State>& state) {
  const std::scoped_lock lock(state->mutex);
  while (state->threads < state->bounds.all) {
    std::string tenant;
    std::shared_ptr<Job> held;
    try {
      held = std::make_shared<Job>();
      if (!take(*state, tenant, *held)) {
        return;
      }
      std::thread([state, tenant, held] { work(state, tenant, std::move(*held)); }).detach();
      ++state->threads;
    } catch (const std::exception&) {  // No memory, or std::system_error (pthread_create(3)).
      if (held && *held) {
        Line& line = state->lines[tenant];
        line.waiting.push_front(std::move(*held));
        --line.running;
      }
      return;
    }
  }
}

void WorkQueue::work(const std::shared_ptr<State>& state, std::string tenant, Job job) {
  for (;;) {
    try {
      job();
    } catch (const std::exception&) {  // What it could not do is left for the sweep.
    }
    job = nullptr;  // What it holds ends here, before it counts as done.
    const std::scoped_lock lock(state->mutex);
    const auto line = state->lines.find(tenant);
    if (--line->second.running == 0 && line->second.waiting.empty()) {
      state->lines.erase(line);
    }
    --state->jobs;
    state->changed.notify_all();
    if (!take(*state, tenant, job)) {
      --state->threads;
      return;
    }
  }
}

}  // namespace glovebox::keeper
