// SPDX-License-Identifier: Apache-2.0
// ContextStarter: contexts that are started in sandboxes of their own, in tiers where none can be
// forked into another sandbox.
//
// If the tier can save memory, only the first one is started and warmed up. It is then saved as a
// template, and each context is that one, continued in a sandbox of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "context/context.h"
#include "context/live_context.h"
#include "sandbox/sandbox.h"

namespace glovebox {

struct StarterSpec {
  SandboxSpec sandbox;
  TierWish tier;
  ContextSpec context;
  // Modules to import, if they are installed, and then code to run, without a trace in the context.
  std::vector<std::string> modules{};
  std::string warm_up{};
  // A template is replaced after this many contexts, or this much time: its contexts share one
  // layout of memory and one hash seed.
  std::uint64_t uses_of_template = 10'000;
  std::chrono::minutes age_of_template{60};
};

// Safe to use from several threads.
class ContextStarter {
 public:
  explicit ContextStarter(StarterSpec spec) : spec_(std::move(spec)) {}
  ContextStarter(const ContextStarter&) = delete;
  ContextStarter& operator=(const ContextStarter&) = delete;
  ~ContextStarter();

  // A sandbox with a warm context. A template may have to be made first, which takes seconds.
  Result<LiveContext> make_ahead();

  // A sandbox, as soon as one can be had: with a warm context if there is a template, else without
  // any.
  Result<LiveContext> make_now();

  // Ends what is being started, and starts nothing any more.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  class Template;
  class Starting;

  // Null if there is no template, or it is worn.
  std::shared_ptr<Template> present();
  Result<LiveContext> start();
  Result<LiveContext> load(const std::shared_ptr<Template>& from);
  Result<LiveContext> load_ahead(const std::shared_ptr<Template>& from);

  const StarterSpec spec_;
  std::mutex making_;  // Held while a template is made.
  std::mutex mutex_;   // Of what follows; held for a moment only.
  std::shared_ptr<Template> template_;
  std::vector<Sandbox*> starting_;
  bool stopping_ = false;
  Clock::time_point retry_{};  // No template is made before, since the last one was no good.
};

}  // namespace glovebox
