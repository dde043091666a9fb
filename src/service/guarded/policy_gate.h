// SPDX-License-Identifier: Apache-2.0
// PolicyGate: what policies say about code before it runs, for every door.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_locks.h"
#include "guard/policy/policy.h"
#include "service/api/sandbox_service.h"
#include "service/guarded/approvals.h"
#include "service/guarded/cell_history.h"
#include "service/guarded/holding_policies.h"
#include "service/guarded/reviews.h"
#include "service/guarded/trial.h"
#include "service/runs/analysis.h"
#include "service/templates/recipe.h"

namespace glovebox {

// Each function lets a program pass, or fails with kRefused if a policy refuses it, if the person
// who was asked refuses it, or if nobody answers in time. It blocks meanwhile; an event
// "approval_needed" tells `sink` about the question. Any thread; the service outlives it.
class PolicyGate {
 public:
  PolicyGate(SandboxService& service, PolicyOptions options);

  [[nodiscard]] const HoldingPolicies& holding() const { return holding_; }

  // Also executes: as a dry run before the question, if the policies that ask want one. Cells of a
  // context take turns, so that each is analysed together with those before it. Tool calls are
  // checked against the policies when they are made (call_gate.h).
  Result<void> execute(const Caller& caller,
                       std::string_view sandbox,
                       std::string_view context,
                       const ExecuteRequest& request,
                       const EventSink& sink);
  // The context `fork` begins where `context` is.
  void forked(const Caller& caller,
              std::string_view sandbox,
              std::string_view context,
              std::string_view fork);
  // The contexts of `copy` begin where those of `sandbox` are.
  void copied(const Caller& caller, std::string_view sandbox, std::string_view copy);
  Result<void> run(const Caller& caller, const RunRequest& request, const EventSink& sink);
  Result<void> judge(const Caller& caller, const JudgeRequest& request, const EventSink& sink);
  // What is typed at a terminal, or written to standard input later, is not analysed: such a
  // process counts as one that cannot be analysed.
  Result<void> process(const Caller& caller,
                       std::string_view sandbox,
                       const ProcessRequest& request);
  Result<void> packages(const Caller& caller,
                        std::string_view sandbox,
                        const PackagesRequest& request,
                        const EventSink& sink);
  // Commands that build a template, and those that start with its sandboxes. Only the policies of
  // the daemon and of the tenant hold; kInvalid unless the recipe's own are names of shipped ones.
  Result<void> recipe(const Caller& caller, const Recipe& recipe);

  [[nodiscard]] Approvals& approvals() { return approvals_; }
  [[nodiscard]] Reviews& reviews() { return reviews_; }

 private:
  // What somebody wants to run.
  struct Request {
    std::string_view kind{};
    std::string_view sandbox{};
    std::vector<SourceUnit> units{};
    std::string before{};  // Of the only unit: code that has been executed before it.
    std::string unseen{};  // Why there is more than can be analysed; empty: there is not.
    std::vector<std::string> grants{};
    std::vector<std::string> inputs{};  // What else would make it another program.
  };

  [[nodiscard]] RunAnalyser in_sandbox_of(const Caller& caller) const;
  struct Judgement {
    bool parsed = false;                 // All of it could be analysed.
    std::optional<Approval> question{};  // What a person has to agree to.
  };
  // kRefused if a policy refuses it.
  Result<Judgement> examine(const Caller& caller,
                            const std::vector<policy::Policy>& policies,
                            const Request& request);
  Result<void> ask(Approval question, const EventSink& sink);
  // Examines and asks, for what can have no dry run.
  Result<void> decide(const Caller& caller,
                      const std::vector<policy::Policy>& policies,
                      const Request& request,
                      const EventSink& sink);
  struct Cell {
    const Caller& caller;
    std::string_view sandbox;
    std::string_view context;
    const ExecuteRequest& request;
    const EventSink& sink;
  };
  // Executes what has passed.
  Result<void> carry_out(const Cell& cell);
  // Executes it as a dry run, and puts the result into the question; returns null if there can be
  // none, and then the question says why.
  Result<std::unique_ptr<Trial>> try_first(const Cell& cell, Approval& question);

  SandboxService& service_;
  const std::chrono::seconds approval_time_;
  const HoldingPolicies holding_;
  Approvals approvals_;
  Reviews reviews_;
  CellHistory history_;
  NamedLocks turns_;  // Of contexts.
  KeptTrials kept_;
  WarmAnalyser analyser_;
};

}  // namespace glovebox
