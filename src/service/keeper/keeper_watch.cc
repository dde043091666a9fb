// SPDX-License-Identifier: Apache-2.0
// What Keeper does by itself: it ends sandboxes whose time is over, and clears up.
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "base/json/json.h"
#include "sandbox/slot.h"
#include "service/keeper/keeper.h"
#include "service/templates/content_store.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

// How often the watcher looks for sandboxes whose time is over, and for dead ones.
constexpr auto kWatchEvery = 100ms;
// How often to try again to remove what a busy kernel held on to when its sandbox ended.
constexpr auto kSweepEvery = 30s;
// How long to wait for what executes before a dry run whose time is over is taken back.
constexpr auto kDiscardPatience = 60s;

}  // namespace

void Keeper::watch() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kWatchEvery, [this] { return stopping_; })) {
        return;
      }
    }
    try {
      end_overdue();
      end_idle_images();
    } catch (const std::exception&) {  // No memory: the next round tries again.
    }
  }
}

// In a thread of its own: it waits for what cannot be removed at once, and timeouts must not wait
// for that.
void Keeper::sweep() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kSweepEvery, [this] { return stopping_; })) {
        return;
      }
    }
    try {
      (void)sweep_leftovers();
      // A draft whose last process was still ending when its build was over.
      ContentStore::at(paths_.directory() + "/templates").sweep_drafts();
    } catch (const std::exception&) {  // As above.
    }
  }
}

// In a thread of its own, too: a guest with many descriptors takes a while to look at.
void Keeper::watch_hoards() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kWatchEvery, [this] { return stopping_; })) {
        return;
      }
    }
    try {
      for (const auto& sandbox : all()) {
        sandbox->note_oom_kills();
        sandbox->end_hoarders();
      }
      pools_.end_hoarders();
    } catch (const std::exception&) {  // As above.
    }
  }
}

void Keeper::end_idle_images() {
  for (auto& idle : images_.take_idle()) {
    chores_.post({}, [ends = std::move(idle)] {});
  }
}

// If it cannot be taken back, the sandbox ends: nobody has agreed to what it is now.
void Keeper::discard_expired(HeldSandbox& sandbox, const std::string& tenant) {
  const auto told = sandbox.undecided();
  const std::string id = nlohmann::json::parse(told.value_or("{}"), nullptr, false).value("id", "");
  const auto discarded = sandbox.decide(
      id, {.commit = false}, {.deadline = std::chrono::steady_clock::now() + kDiscardPatience});
  if (!discarded && discarded.error().code() != ErrorCode::kNotFound && !sandbox.paused()) {
    log_.warning("sandbox " + std::string(sandbox.id()) + ": dry run " + id +
                 " cannot be taken back, and the sandbox is ended: " + discarded.error().message());
    sandbox.kill();
  }
  if (discarded) {
    happenings_.note({.tenant = tenant,
                      .sandbox = std::string(sandbox.id()),
                      .action = "dry_run.expire",
                      .subject = id,
                      .result = "discarded"});
  }
  const std::scoped_lock lock(mutex_);
  if (const auto found = sandboxes_.find(sandbox.id()); found != sandboxes_.end()) {
    found->second.discarding = false;
  }
}

// Only finds them: what waits for a guest or for a disk is a job of its own.
void Keeper::end_overdue() {
  const std::scoped_lock lock(mutex_);
  for (auto next = sandboxes_.begin(); next != sandboxes_.end();) {
    const auto current = next++;
    Held& held = current->second;
    if (held.saving) {
      continue;
    }
    const bool alive = held.sandbox->alive();
    const bool overdue = held.sandbox->overdue();
    if (alive && !overdue && held.sandbox->has_expired_dry_run() &&
        !std::exchange(held.discarding, true)) {
      chores_.post(held.tenant, [this, sandbox = held.sandbox, tenant = held.tenant] {
        discard_expired(*sandbox, tenant);
      });
    }
    if (overdue && alive && held.sandbox->lifetime().on_timeout == OnTimeout::kPause) {
      if (!std::exchange(held.pausing, true)) {
        chores_.post(held.tenant, [this, sandbox = held.sandbox] {
          (void)sandbox->pause();
          const std::scoped_lock again(mutex_);
          if (const auto found = sandboxes_.find(sandbox->id()); found != sandboxes_.end()) {
            found->second.pausing = false;
          }
        });
      }
    } else if (overdue || !alive) {
      note_end(current->first, *held.sandbox);
      const std::string tenant = held.tenant;
      chores_.post(tenant, [this, gone = std::move(held), overdue] {
        bury(gone);
        if (overdue) {
          discard_workspace(*gone.sandbox);
        }
      });
      sandboxes_.erase(current);
    }
  }
}

}  // namespace glovebox::keeper
