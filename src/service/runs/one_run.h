// SPDX-License-Identifier: Apache-2.0
// OneRun: a one-shot run in its place. Its steps, in their order; each is in a file of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/runs/one_shot.h"
#include "service/runs/run_place.h"
#include "service/runs/run_plan.h"
#include "spec/checks.h"
#include "spec/verdict.h"

namespace glovebox {

// For one thread at a time. Request and observer must outlive it.
class OneRun {
 public:
  static Result<OneRun> begin(const OneShot& request,
                              const OneShotObserver& observer,
                              RunPlan plan);

  // Puts in what is there before anything runs: files, and the program.
  Result<void> put_in();

  // Compiles, if the language does. True when the program may be run.
  Result<bool> compile();

  Result<void> run_program();

  // Runs the request's command that verifies what has run.
  Result<void> verify();
  // Runs its commands that check a run which ended with `ok`.
  Result<std::vector<CheckReport>> check_with_commands();

  // Finds what has changed in the files, and copies it out if that is asked for.
  Result<void> collect();
  // In place of collect(), for a run that only compiles: the content of this one file. If there is
  // none, the verdict is that it did not compile.
  Result<std::string> take_product(const std::string& name);

  // Checks what does not need the sandbox, and adds it to `reports`, which are the verdict's.
  Result<void> check_result(std::vector<CheckReport> reports);

  Result<OneShotResult> end() &&;

 private:
  OneRun(const OneShot& request, const OneShotObserver& observer, RunPlan plan, RunPlace place);

  [[nodiscard]] Verdict& verdict() { return result_.verdict; }
  // What RunObserver::started tells our observer.
  [[nodiscard]] std::function<void()> started(std::string_view phase) const;
  // Whether, before the program runs, there is no file that it could change or delete.
  [[nodiscard]] bool begins_bare() const;
  Result<void> unpack_image();
  Result<void> give_workspace();
  Result<Verdict> shell(const std::string& text);
  Result<void> find_changes();
  Result<void> copy_out_changes();
  void note_missing();
  void keep_not_copied(Error error);

  const OneShot& request_;
  const OneShotObserver& observer_;
  RunPlan plan_;
  RunPlace place_;
  OneShotResult result_;
};

}  // namespace glovebox
