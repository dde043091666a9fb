// SPDX-License-Identifier: Apache-2.0
// HeldContext: a context of a held sandbox, its queue, its executions and its history.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "context/context.h"
#include "context/request_box.h"
#include "service/api/sandbox_service.h"
#include "service/keeper/changed_files.h"
#include "service/keeper/dry_run_gate.h"
#include "service/keeper/execution_log.h"
#include "service/keeper/held_dry_run.h"
#include "service/keeper/history.h"
#include "service/keeper/turns.h"

namespace glovebox::keeper {

// The prefix of the daemon's own keys.
inline constexpr std::string_view kOwnKey = "own-";

// Safe to use from several threads.
class HeldContext {
 public:
  // Makes the interpreter: at its first use, and again at each restart.
  using Starter = std::function<Result<std::unique_ptr<Context>>()>;

  // What contexts of one sandbox share.
  struct Shared {
    std::shared_ptr<KeptMemory> memory;
    std::shared_ptr<DryRunGate> gate;
    std::function<HeldNetwork*()> network;  // Returns null if there is none.
    std::function<ChangedFiles*()> files;   // Returns null if verdicts do not say what changed.
  };
  HeldContext(std::string id,
              ContextRequest request,
              Starter starter,
              std::unique_ptr<Context> ready,
              Shared shared)
      : id_(std::move(id)),
        request_(std::move(request)),
        starter_(std::move(starter)),
        memory_(std::move(shared.memory)),
        gate_(std::move(shared.gate)),
        network_(std::move(shared.network)),
        files_(std::move(shared.files)),
        context_(std::move(ready)),
        history_(memory_),
        started_(context_ != nullptr) {}

  // Functions that take a Patience wait for their turn (turns.h).

  // Makes the interpreter now, unless it is there.
  Result<void> start(const Patience& patience);

  // The log of the execution that has the request's key, and whether it is this caller's to
  // execute. An empty key is always a new execution. kConflict when the key came with another
  // request before.
  struct Claimed {
    std::shared_ptr<ExecutionLog> log;
    bool mine = false;
  };
  Result<Claimed> claim(const ExecuteRequest& request);

  // Cancels the execution that has this key, whether it runs, waits, or has yet to come.
  void cancel(const std::string& key);

  // Forgets a finished execution of a key that no client will name again.
  void forget(const std::string& key);

  // Waits for its turn and executes into `log`, which it always finishes. `outlet` passes on what
  // comes into the log; the guest is held up while the outlet is full.
  void execute(const ExecuteRequest& request,
               const Limits& limits,
               const std::shared_ptr<ExecutionLog>& log,
               Outlet& outlet,
               const Patience& patience);

  // Cancels what runs now, but nothing that waits.
  void interrupt();

  // How to find the context in its sandbox once that was saved and loaded; its history stays
  // behind. Nobody uses the context while `turn` is held. kConflict if it is executing something.
  struct AtRest {
    Turns::Turn turn;
    std::optional<RestingContext> resting{};  // None: no interpreter was started, or it has ended.
  };
  Result<AtRest> rest();

  // As SandboxService's.
  Result<void> reply_input(const InputReply& reply);
  Result<void> reply_tool(const ToolReply& reply);
  Result<ToolWait> tool_wait(const std::string& call);
  Result<void> agree_to_tool(const std::string& call, std::string hash);
  Result<Completion> complete(const CodePlace& place, const Patience& patience);
  Result<Inspection> inspect(const CodePlace& place, int detail, const Patience& patience);

  Result<void> restart(const Patience& patience);
  Result<std::uint32_t> checkpoint(const Patience& patience);
  // To the newest one if none is named. Returns which one it was.
  Result<std::uint32_t> rollback(std::optional<std::uint32_t> checkpoint, const Patience& patience);
  Result<std::unique_ptr<Context>> fork_from(std::uint32_t checkpoint, const Patience& patience);

  // Keeps, or takes back, what a dry run of this context has changed. kNotFound if no such dry run
  // waits for a decision; otherwise fails as HeldDryRun's.
  Result<void> decide(std::string_view dry_run,
                      const DryRunDecision& decision,
                      const Patience& patience);

  // Only the finished cells: does not wait for what runs.
  [[nodiscard]] Result<std::string> notebook() const;
  [[nodiscard]] ContextInfo info() const;
  [[nodiscard]] const ContextRequest& request() const { return request_; }
  [[nodiscard]] const Starter& starter() const { return starter_; }

 private:
  Result<std::string> execute_in_turn(const ExecuteRequest& request,
                                      const Limits& limits,
                                      ExecutionLog& log,
                                      Outlet& outlet);
  Result<void> begin_dry_run(Context& context, const ExecuteRequest& request);
  // `cell` goes into the history only with the decision to keep the dry run.
  Result<Verdict> conclude_dry_run(Result<Execution> executed,
                                   const ExecuteRequest& request,
                                   const Limits& limits,
                                   glovebox::notebook::Cell cell);
  Result<Context*> living();
  // To be called after the interpreter was used.
  void note_end();
  void set_current(std::shared_ptr<ExecutionLog> log);
  // Requires the mutex.
  Claimed claim_key(const std::string& key);

  const std::string id_;
  const ContextRequest request_;
  const Starter starter_;
  const std::shared_ptr<KeptMemory> memory_;
  const std::shared_ptr<DryRunGate> gate_;
  const std::function<HeldNetwork*()> network_;
  const std::function<ChangedFiles*()> files_;

  Turns turns_;  // Held while `context_` is used.
  std::unique_ptr<Context> context_;
  HeldDryRun dry_run_{gate_};
  std::optional<glovebox::notebook::Cell> dry_cell_;
  History history_;
  RequestBox requests_;

  mutable std::mutex mutex_;  // Of what follows.
  bool started_ = false;
  bool ended_ = false;
  std::shared_ptr<ExecutionLog> current_;
  struct Keyed {
    std::string key;
    std::optional<std::size_t> request{};  // Its hash, once it has come.
    std::shared_ptr<ExecutionLog> log;
  };
  std::deque<Keyed> keyed_;
};

}  // namespace glovebox::keeper
