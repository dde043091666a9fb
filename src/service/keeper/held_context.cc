// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/held_context.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "context/notebook/collect.h"
#include "context/notebook/html.h"
#include "context/notebook/values.h"
#include "context/notebook/write.h"
#include "service/keeper/event_json.h"
#include "spec/json/verdict_json.h"

namespace glovebox::keeper {
namespace {

// Executions whose key is remembered, and cells of the history, per context.
constexpr std::size_t kMostKeys = 32;
constexpr std::size_t kMostCells = 1'000;
// Of the history of one cell: a session of a thousand of them stays within bounds.
constexpr glovebox::notebook::OutputLimits kCellLimits{.size = 1_MiB, .outputs = 200};

Error died() {
  return {ErrorCode::kConflict, "the interpreter of this context has ended", "restart the context"};
}

std::string metadata_of(const std::string& language) {
  return nlohmann::json{{"kernelspec", {{"name", language}, {"display_name", language}}},
                        {"language_info", {{"name", language}}}}
      .dump();
}

Verdict canceled(std::string language) {
  Verdict verdict;
  verdict.language = std::move(language);
  verdict.status = Status::kCanceled;
  return verdict;
}

}  // namespace

Result<Context*> HeldContext::living() {
  if (context_ && context_->alive()) {
    return context_.get();
  }
  {
    const std::scoped_lock lock(mutex_);
    if (started_) {
      ended_ = true;
      return died();
    }
  }
  context_ = GB_TRY(starter_());
  const std::scoped_lock lock(mutex_);
  started_ = true;
  return context_.get();
}

Result<void> HeldContext::start(const Patience& patience) {
  const auto turn = GB_TRY(turns_.take(patience));
  (void)GB_TRY(living());
  return {};
}

std::pair<std::shared_ptr<ExecutionLog>, bool> HeldContext::claim(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  if (!key.empty()) {
    const auto known = std::ranges::find(
        keyed_, key, [](const auto& entry) -> const std::string& { return entry.first; });
    // What a client canceled, or lost, before it had said anything was not executed: it may try
    // again. The daemon does not: of its own, what comes late was canceled.
    if (known != keyed_.end() && known->second->ended(0) && !key.starts_with(kOwnKey)) {
      keyed_.erase(known);
    } else if (known != keyed_.end()) {
      return {known->second, false};
    }
  }
  auto log = std::make_shared<ExecutionLog>();
  if (!key.empty()) {
    keyed_.emplace_back(key, log);
    const auto finished = std::ranges::find_if(
        keyed_, [](const auto& entry) { return entry.second->ended(UINT64_MAX); });
    if (keyed_.size() > kMostKeys && finished != keyed_.end()) {
      keyed_.erase(finished);
    }
  }
  return {std::move(log), true};
}

void HeldContext::forget(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(keyed_, [&](const auto& entry) { return entry.first == key; });
}

void HeldContext::execute(const ExecuteRequest& request,
                          const Limits& limits,
                          const std::shared_ptr<ExecutionLog>& log,
                          const std::function<void(std::string_view)>& deliver,
                          const Patience& patience) {
  const auto tell = [&](std::string_view event) {
    if (!event.empty()) {
      log->append(event);
      deliver(event);
    }
  };
  const auto turn = turns_.take(patience);
  if (!turn && !log->canceled()) {
    log->finish(turn.error());
    return;
  }
  if (!turn) {
    tell(verdict_event(canceled(request_.language)));
    log->finish();
    return;
  }
  set_current(log);
  auto verdict = execute_in_turn(request, limits, *log, tell);
  set_current(nullptr);
  if (verdict) {
    tell(*verdict);
    log->finish();
  } else {
    log->finish(std::move(verdict).error());
  }
}

Result<std::string> HeldContext::execute_in_turn(
    const ExecuteRequest& request,
    const Limits& limits,
    ExecutionLog& log,
    const std::function<void(std::string_view)>& tell) {
  Context* const context = GB_TRY(living());
  std::optional<glovebox::notebook::OutputCollector> collector;
  if (request.store_history) {
    const std::size_t cell = begin_cell(request);
    collector.emplace(history_, kCellLimits);
    collector->begin(cell);
  }
  ExecuteOptions options{.code = request.code,
                         .env = request_.env,
                         .limits = limits,
                         .silent = false,
                         .store_history = request.store_history,
                         .recover = request.recover,
                         .cancel_fd = log.cancel_fd()};
  options.env.insert(options.env.end(), request.env.begin(), request.env.end());
  options.observer = [&](const Event& event) {
    tell(event_json(event, context->sandbox().id()));
    if (collector) {
      collector->add(glovebox::notebook::keep_inline(event));
    }
  };
  auto executed = context->execute(options);
  if (collector) {
    collector->finish();
  }
  {
    const std::scoped_lock lock(mutex_);
    ended_ = !context->alive();
  }
  if (!executed) {
    return std::move(executed).error();
  }
  if (collector && executed->execution_count > 0) {
    history_.cells.back().execution_count = executed->execution_count;
  }
  // Whoever killed the sandbox took the guest's own end from it.
  if (!context->sandbox().alive() && executed->status == Status::kSignaled) {
    return Error(ErrorCode::kUnavailable, "the sandbox ended during the execution");
  }
  return verdict_event(make_verdict(*context, std::move(executed).value(), limits));
}

std::size_t HeldContext::begin_cell(const ExecuteRequest& request) {
  if (history_.cells.size() >= kMostCells) {
    history_.cells.pop_front();
  }
  history_.cells.emplace_back().source = request.code;
  return history_.cells.size() - 1;
}

void HeldContext::set_current(std::shared_ptr<ExecutionLog> log) {
  const std::scoped_lock lock(mutex_);
  current_ = std::move(log);
}

void HeldContext::interrupt() {
  std::shared_ptr<ExecutionLog> log;
  {
    const std::scoped_lock lock(mutex_);
    log = current_;
  }
  if (log) {
    log->cancel();
  }
}

Result<void> HeldContext::restart(const Patience& patience) {
  interrupt();
  const auto turn = GB_TRY(turns_.take(patience));
  context_.reset();
  {
    const std::scoped_lock lock(mutex_);
    started_ = false;
    ended_ = false;
  }
  (void)GB_TRY(living());
  return {};
}

Result<std::uint32_t> HeldContext::checkpoint(const Patience& patience) {
  const auto turn = GB_TRY(turns_.take(patience));
  return GB_TRY(living())->checkpoint();
}

Result<void> HeldContext::rollback(std::uint32_t checkpoint, const Patience& patience) {
  const auto turn = GB_TRY(turns_.take(patience));
  if (!context_) {
    return Error(ErrorCode::kNotFound, "no checkpoint " + std::to_string(checkpoint));
  }
  // Also of an interpreter that has died since.
  GB_TRY(context_->rollback(checkpoint));
  const std::scoped_lock lock(mutex_);
  ended_ = false;
  return {};
}

Result<std::unique_ptr<Context>> HeldContext::fork_from(std::uint32_t checkpoint,
                                                        const Patience& patience) {
  const auto turn = GB_TRY(turns_.take(patience));
  return GB_TRY(living())->fork_from(checkpoint);
}

Result<std::string> HeldContext::notebook(SandboxService::NotebookFormat format,
                                          const Patience& patience) {
  const auto turn = GB_TRY(turns_.take(patience));
  history_.metadata = metadata_of(request_.language);
  return format == SandboxService::NotebookFormat::kHtml
             ? glovebox::notebook::notebook_to_html(history_)
             : glovebox::notebook::write_notebook(history_);
}

ContextInfo HeldContext::info() const {
  const std::scoped_lock lock(mutex_);
  return {.id = id_,
          .language = request_.language,
          .cwd = request_.cwd,
          .alive = !ended_,
          .busy = turns_.taken()};
}

}  // namespace glovebox::keeper
