// SPDX-License-Identifier: Apache-2.0
// ContextStarter: contexts that are started in sandboxes of their own, in tiers where none can be
// forked into another sandbox.
//
// Where the tier can save memory, only the first one is started and warmed up. It is saved as a
// template then, and each context is that one, going on in a sandbox of its own.
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
  // Imported where they are installed, and then run, without a trace in the context.
  std::vector<std::string> modules{};
  std::string warm_up{};
  // A template is made anew after so many contexts, or so much time: they share one layout of
  // memory and one hash seed.
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

  // A sandbox with a warm context, for which a template may have to be made first: seconds.
  Result<LiveContext> make_ahead();

  // As soon as a sandbox can be had: with a warm context where there is a template, else without
  // any.
  Result<LiveContext> make_now();

  // What is being started ends, and nothing is started any more.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  class Template;
  class Starting;

  // None where there is none, or it is worn.
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
