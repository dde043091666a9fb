// SPDX-License-Identifier: Apache-2.0
// HeldContext: a context of a held sandbox, its queue, its executions and its history.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "context/context.h"
#include "context/notebook/notebook.h"
#include "service/keeper/execution_log.h"
#include "service/keeper/turns.h"
#include "service/sandbox_service.h"

namespace glovebox::keeper {

// What begins a key of the daemon's own.
inline constexpr std::string_view kOwnKey = "own-";

// Safe to use from several threads.
class HeldContext {
 public:
  // Makes the interpreter: at its first use, and again at each restart.
  using Starter = std::function<Result<std::unique_ptr<Context>>()>;

  HeldContext(std::string id,
              ContextRequest request,
              Starter starter,
              std::unique_ptr<Context> ready)
      : id_(std::move(id)),
        request_(std::move(request)),
        starter_(std::move(starter)),
        context_(std::move(ready)),
        started_(context_ != nullptr) {}

  // What takes a Patience waits for its turn (turns.h).

  // Makes the interpreter now, unless it is there.
  Result<void> start(const Patience& patience);

  // The log of the execution that has this key, and whether it is this caller's to execute. An
  // empty key is always a new execution.
  std::pair<std::shared_ptr<ExecutionLog>, bool> claim(const std::string& key);

  // Forgets a finished execution of a key that no client will name again.
  void forget(const std::string& key);

  // Waits for its turn and executes into `log`, which it finishes in every case. `deliver` gets
  // each event as well, from this thread.
  void execute(const ExecuteRequest& request,
               const Limits& limits,
               const std::shared_ptr<ExecutionLog>& log,
               const std::function<void(std::string_view)>& deliver,
               const Patience& patience);

  // Cancels what runs now, but nothing that waits.
  void interrupt();

  Result<void> restart(const Patience& patience);
  Result<std::uint32_t> checkpoint(const Patience& patience);
  Result<void> rollback(std::uint32_t checkpoint, const Patience& patience);
  Result<std::unique_ptr<Context>> fork_from(std::uint32_t checkpoint, const Patience& patience);

  Result<std::string> notebook(SandboxService::NotebookFormat format, const Patience& patience);
  [[nodiscard]] ContextInfo info() const;
  [[nodiscard]] const ContextRequest& request() const { return request_; }
  [[nodiscard]] const Starter& starter() const { return starter_; }

 private:
  Result<std::string> execute_in_turn(const ExecuteRequest& request,
                                      const Limits& limits,
                                      ExecutionLog& log,
                                      const std::function<void(std::string_view)>& tell);
  Result<Context*> living();
  void set_current(std::shared_ptr<ExecutionLog> log);
  std::size_t begin_cell(const ExecuteRequest& request);

  const std::string id_;
  const ContextRequest request_;
  const Starter starter_;

  Turns turns_;  // Held while `context_` and `history_` are used.
  std::unique_ptr<Context> context_;
  glovebox::notebook::Notebook history_;

  mutable std::mutex mutex_;  // Of what follows.
  bool started_ = false;
  bool ended_ = false;
  std::shared_ptr<ExecutionLog> current_;
  std::deque<std::pair<std::string, std::shared_ptr<ExecutionLog>>> keyed_;
};

}  // namespace glovebox::keeper
