// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/held_context.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "context/notebook/collect.h"
#include "context/notebook/values.h"
#include "service/keeper/codec.h"
#include "service/keeper/event_json.h"
#include "spec/json/verdict_json.h"

namespace glovebox::keeper {
namespace {

// Executions whose key is remembered.
constexpr std::size_t kMostKeys = 32;
// What an interpreter may take for a question about code.
constexpr std::chrono::seconds kQuestionPatience{5};
// Of the history, for one cell.
constexpr glovebox::notebook::OutputLimits kCellLimits{.size = 1_MiB, .outputs = 200};

// What code in a dry run gets when it calls a tool.
constexpr std::string_view kNoTools = "this is a dry run: tools are not called";

Error died() {
  return {ErrorCode::kConflict, "the interpreter of this context has ended", "restart the context"};
}

// All of the request but its key. Keys are the caller's own, so nobody gains by a collision.
std::size_t hash_of(ExecuteRequest request) {
  request.idempotency_key.clear();
  return std::hash<std::string>()(pack(to_json(request)));
}

Verdict canceled(std::string language) {
  Verdict verdict;
  verdict.language = std::move(language);
  verdict.status = Status::kCanceled;
  return verdict;
}

Result<std::uint64_t> number_of_call(const std::string& id) {
  std::uint64_t call = 0;
  const char* const end = id.data() + id.size();
  const auto [read, failure] = std::from_chars(id.data(), end, call);
  if (failure != std::errc() || read != end) {
    return Error(ErrorCode::kNotFound, "no tool call '" + printable(id.substr(0, 64)) + "'",
                 "use the id of a tool_call event of this context");
  }
  return call;
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

Result<HeldContext::AtRest> HeldContext::rest() {
  auto turn = turns_.take({.deadline = std::chrono::steady_clock::now()});
  if (!turn) {
    return Error(ErrorCode::kConflict, "code is running in context '" + id_ + "'",
                 "wait for it, or interrupt it");
  }
  AtRest rest{.turn = std::move(turn).value()};
  if (context_ && context_->alive()) {
    rest.resting = GB_TRY(context_->rest());
  }
  return rest;
}

Result<void> HeldContext::start(const Patience& patience) {
  const auto turn = GB_TRY(turns_.take(patience));
  (void)GB_TRY(living());
  return {};
}

Result<HeldContext::Claimed> HeldContext::claim(const ExecuteRequest& request) {
  const std::string& key = request.idempotency_key;
  // A key of the daemon's own is never used for anything else.
  const bool compared = !key.empty() && !key.starts_with(kOwnKey);
  const std::optional<std::size_t> hash = compared ? std::optional(hash_of(request)) : std::nullopt;
  const std::scoped_lock lock(mutex_);
  Claimed claimed = claim_key(key);
  const auto known = std::ranges::find(keyed_, key, &Keyed::key);
  if (hash && known != keyed_.end()) {
    if (known->request.value_or(*hash) != *hash) {
      return Error(ErrorCode::kConflict,
                   "this Idempotency-Key was already used for a different execution",
                   "use a new key for each execution, and reuse a key only to retry");
    }
    known->request = hash;
  }
  return claimed;
}

HeldContext::Claimed HeldContext::claim_key(const std::string& key) {
  if (!key.empty()) {
    const auto known = std::ranges::find(keyed_, key, &Keyed::key);
    // An execution that a client canceled, or lost, before it said anything was not executed: the
    // client may try again. The daemon does not: if one of its own comes late, it was canceled.
    if (known != keyed_.end() && known->log->said_nothing() && !key.starts_with(kOwnKey)) {
      keyed_.erase(known);
    } else if (known != keyed_.end()) {
      return {.log = known->log, .mine = false};
    }
  }
  auto log = std::make_shared<ExecutionLog>(memory_);
  if (!key.empty()) {
    keyed_.push_back({.key = key, .log = log});
    const auto finished =
        std::ranges::find_if(keyed_, [](const Keyed& entry) { return entry.log->finished(); });
    if (keyed_.size() > kMostKeys && finished != keyed_.end()) {
      keyed_.erase(finished);
    }
  }
  return {.log = std::move(log), .mine = true};
}

void HeldContext::cancel(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto [log, mine] = claim_key(key);
  log->cancel();
  if (mine) {
    log->finish();
  }
}

void HeldContext::forget(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(keyed_, [&](const Keyed& entry) { return entry.key == key; });
}

void HeldContext::execute(const ExecuteRequest& request,
                          const Limits& limits,
                          const std::shared_ptr<ExecutionLog>& log,
                          Outlet& outlet,
                          const Patience& patience) {
  const auto turn = turns_.take(patience);
  if (!turn) {
    if (log->canceled()) {
      log->append(verdict_event(canceled(request_.language)));
      log->finish();
    } else {
      log->finish(turn.error());
    }
    return;
  }
  set_current(log);
  auto verdict = execute_in_turn(request, limits, *log, outlet);
  set_current(nullptr);
  if (verdict) {
    log->append(*verdict);
    log->finish();
  } else {
    log->finish(std::move(verdict).error());
  }
}

Result<std::string> HeldContext::execute_in_turn(const ExecuteRequest& request,
                                                 const Limits& limits,
                                                 ExecutionLog& log,
                                                 Outlet& outlet) {
  if (log.canceled()) {
    return verdict_event(canceled(request_.language));
  }
  std::optional<DryRunGate::Pass> pass;
  if (!request.dry_run.wanted) {
    pass.emplace(GB_TRY(gate_->enter()));
  }
  Context* const context = GB_TRY(living());
  if (request.dry_run.wanted) {
    GB_TRY(begin_dry_run(*context, request));
  }
  glovebox::notebook::Notebook page;
  page.cells.emplace_back().source = History::source_to_keep(request.code);
  glovebox::notebook::OutputCollector collector(page, kCellLimits);
  collector.begin(0);
  KeptMemory::Claim results(memory_);
  ExecuteOptions options{.code = request.code,
                         .env = request_.env,
                         .limits = limits,
                         .silent = false,
                         .store_history = request.store_history,
                         .recover = request.recover,
                         .cancel_fd = log.cancel_fd(),
                         .outlet = &outlet,
                         .requests = &requests_,
                         .allow_input = request.allow_input,
                         .tools = request.tools,
                         .tools_refused = request.dry_run.wanted ? std::string(kNoTools) : ""};
  options.env.insert(options.env.end(), request.env.begin(), request.env.end());
  options.observer = [&](const Event& event) {
    // If input is not allowed, the code has found its end already, and nobody should reply.
    if (event.kind != Event::Kind::kInputRequest || request.allow_input) {
      log.append(event_json(event, context->sandbox().id()));
    }
    if (request.store_history) {
      collector.add(glovebox::notebook::keep_inline(event));
    }
  };
  options.may_keep = [&results](std::size_t bytes) { return results.more(bytes); };
  ChangedFiles* const files = files_();
  if (files != nullptr) {
    GB_TRY(files->begin());
  }
  auto executed = context->execute(options);
  collector.finish();
  if (executed && executed->execution_count > 0) {
    page.cells.front().execution_count = executed->execution_count;
  }
  if (request.dry_run.wanted) {
    auto verdict =
        conclude_dry_run(std::move(executed), request, limits, std::move(page.cells.front()));
    return verdict ? Result<std::string>(verdict_event(*verdict)) : std::move(verdict).error();
  }
  if (request.store_history) {
    history_.add(std::move(page.cells.front()));
  }
  note_end();
  if (!executed) {
    return std::move(executed).error();
  }
  // The sandbox was killed, so this is not the guest's own end.
  if (!context->sandbox().alive() && executed->status == Status::kSignaled) {
    return Error(ErrorCode::kUnavailable, "the sandbox ended during the execution");
  }
  Verdict verdict = make_verdict(*context, std::move(executed).value(), limits);
  if (files != nullptr) {
    files->add_to(verdict);
  }
  return verdict_event(verdict);
}

Result<void> HeldContext::begin_dry_run(Context& context, const ExecuteRequest& request) {
  if (request.recover) {
    return Error(ErrorCode::kInvalid, "'recover' and 'dry_run' cannot be combined",
                 "a dry run can be discarded, which restores the state before it");
  }
  return dry_run_.begin({.sandbox = context.sandbox(), .context = &context, .network = network_()},
                        id_, request.dry_run, request.dry_run_seal);
}

Result<Verdict> HeldContext::conclude_dry_run(Result<Execution> executed,
                                              const ExecuteRequest& request,
                                              const Limits& limits,
                                              glovebox::notebook::Cell cell) {
  Context& context = *context_;
  if (!executed || !context.sandbox().alive()) {
    dry_run_.give_up();
    note_end();
    return executed ? Error(ErrorCode::kUnavailable, "the sandbox ended during the execution")
                    : std::move(executed).error();
  }
  DryRun changed = dry_run_.conclude(executed->refused_calls);
  note_end();
  if (request.store_history) {
    dry_cell_ = std::move(cell);
  }
  Verdict verdict = make_verdict(context, std::move(executed).value(), limits);
  verdict.dry_run = std::move(changed);
  return verdict;
}

Result<void> HeldContext::decide(std::string_view dry_run,
                                 const DryRunDecision& decision,
                                 const Patience& patience) {
  const auto turn = GB_TRY(turns_.take(patience));
  auto decided = dry_run_.decide(dry_run, decision);
  if (context_) {
    note_end();
  }
  GB_TRY(std::move(decided));
  if (decision.commit && dry_cell_) {
    history_.add(*std::move(dry_cell_));
  }
  dry_cell_.reset();
  return {};
}

void HeldContext::note_end() {
  const std::scoped_lock lock(mutex_);
  ended_ = !context_->alive();
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

Result<void> HeldContext::reply_input(const InputReply& reply) {
  return requests_.answer(reply.value, reply.request);
}

Result<void> HeldContext::reply_tool(const ToolReply& reply) {
  return requests_.answer_call(GB_TRY(number_of_call(reply.call)), reply.answer);
}

Result<ToolWait> HeldContext::tool_wait(const std::string& call) {
  return requests_.wait_of(GB_TRY(number_of_call(call)));
}

Result<void> HeldContext::agree_to_tool(const std::string& call, std::string hash) {
  return requests_.agree(GB_TRY(number_of_call(call)), std::move(hash));
}

Result<Completion> HeldContext::complete(const CodePlace& place, const Patience& patience) {
  const auto turn = GB_TRY(turns_.take(patience));
  auto completion = GB_TRY(living())->complete(place, kQuestionPatience);
  note_end();
  return completion;
}

Result<Inspection> HeldContext::inspect(const CodePlace& place,
                                        int detail,
                                        const Patience& patience) {
  const auto turn = GB_TRY(turns_.take(patience));
  auto inspection = GB_TRY(living())->inspect(place, detail, kQuestionPatience);
  note_end();
  return inspection;
}

Result<void> HeldContext::restart(const Patience& patience) {
  interrupt();
  const auto turn = GB_TRY(turns_.take(patience));
  const auto pass = GB_TRY(gate_->enter());
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
  const auto pass = GB_TRY(gate_->enter());
  return GB_TRY(living())->checkpoint();
}

Result<std::uint32_t> HeldContext::rollback(std::optional<std::uint32_t> checkpoint,
                                            const Patience& patience) {
  const auto turn = GB_TRY(turns_.take(patience));
  const auto pass = GB_TRY(gate_->enter());
  const auto wanted = !checkpoint && context_ ? context_->newest_checkpoint() : checkpoint;
  if (!context_ || !wanted) {
    return Error(ErrorCode::kNotFound,
                 checkpoint ? "no checkpoint " + std::to_string(*checkpoint)
                            : "the context has no checkpoint",
                 "create one with POST …/checkpoint");
  }
  // This works even if the interpreter has died since.
  GB_TRY(context_->rollback(*wanted));
  const std::scoped_lock lock(mutex_);
  ended_ = false;
  return *wanted;
}

Result<std::unique_ptr<Context>> HeldContext::fork_from(std::uint32_t checkpoint,
                                                        const Patience& patience) {
  const auto turn = GB_TRY(turns_.take(patience));
  const auto pass = GB_TRY(gate_->enter());
  return GB_TRY(living())->fork_from(checkpoint);
}

Result<std::string> HeldContext::notebook() const { return history_.write(request_.language); }

ContextInfo HeldContext::info() const {
  const std::scoped_lock lock(mutex_);
  return {.id = id_,
          .language = request_.language,
          .cwd = request_.cwd,
          .alive = !ended_,
          .busy = turns_.taken()};
}

}  // namespace glovebox::keeper
