// SPDX-License-Identifier: Apache-2.0
// RunPlace: the sandbox of a one-shot run, with the packages, the image and the network of its
// request: one that was made ahead of such runs, or a new one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/ready_sandbox.h"
#include "service/network/egress.h"
#include "service/packages/packages.h"
#include "service/run_pool/ready_sandboxes.h"
#include "service/runs/one_shot.h"
#include "service/runs/run_plan.h"
#include "spec/command.h"
#include "spec/limits.h"
#include "spec/verdict.h"

namespace glovebox {

// For one thread at a time. The request must outlive it.
class RunPlace {
 public:
  // Completes the plan's specification.
  static Result<RunPlace> find(const OneShot& request,
                               RunPlan& plan,
                               const OneShotObserver& observer);

  [[nodiscard]] Sandbox& operator*() const { return **sandbox_; }
  [[nodiscard]] Sandbox* operator->() const { return &**sandbox_; }
  // The same, for the program of the run alone.
  [[nodiscard]] ReadySandbox& for_program() const { return *sandbox_; }

  // What a command's environment needs beyond what the sandbox gives to all; comes before its own.
  [[nodiscard]] const Environment& env() const { return env_; }
  // Of the program, for a runner that waits (ReadySandbox::run()); empty: none.
  [[nodiscard]] std::string_view compiled() const {
    return compiled_ ? std::string_view(*compiled_) : std::string_view();
  }

  // The beginning of the verdict on something that will run there.
  [[nodiscard]] Verdict verdict(std::string_view language, const Limits& limits) const;
  // Likewise of the run itself, with how this place was found.
  [[nodiscard]] Verdict first_verdict(std::string_view language, const Limits& limits) const;

  // Ends it, and adds to the result what its network recorded. Call it once, and nothing after it.
  Result<void> end(OneShotResult& result);

 private:
  RunPlace() = default;

  void claim(const OneShot& request, RunPlan& plan);
  Result<void> make(const OneShot& request, const RunPlan& plan);
  Result<void> connect(const OneShot& request,
                       const EdgeCredentials& credentials,
                       const OneShotObserver& observer);

  Packages packages_;  // Before the sandbox, whose mount must not be removed as long as it lives.
  std::unique_ptr<ReadySandbox> sandbox_;
  ReadySandboxes* made_by_ = nullptr;  // And ended by; null: it was made for this run.
  std::shared_ptr<const std::string> compiled_;
  Environment env_;
  std::vector<Timing> timings_;
  std::vector<std::string> notes_;
  std::unique_ptr<Egress> egress_;
};

}  // namespace glovebox
