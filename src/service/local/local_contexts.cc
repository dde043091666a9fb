// SPDX-License-Identifier: Apache-2.0
// Contexts, executions and one-shot runs.
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "service/keeper/codec.h"
#include "service/local/local_service.h"
#include "service/local/start_errors.h"

namespace glovebox {
namespace {

using nlohmann::json;

// How long an execution waits for a slot of its tenant's.
constexpr std::chrono::seconds kMostWait{30};

std::size_t executions_of(const TenantQuotas& quotas) {
  return static_cast<std::size_t>(quotas.executions.value_or(SIZE_MAX));
}

}  // namespace

Result<ContextInfo> LocalService::create_context(const Caller& caller,
                                                 std::string_view sandbox,
                                                 const ContextRequest& request) {
  auto made = call_in(caller, sandbox, "create_context", {{"request", keeper::to_json(request)}});
  if (!made) {
    return explain_start(files(caller, sandbox, FileAccess::kRead),
                         {.argv = {}, .env = {}, .cwd = request.cwd}, std::move(made).error());
  }
  return keeper::to_context_info(*made);
}

Result<std::vector<ContextInfo>> LocalService::contexts(const Caller& caller,
                                                        std::string_view sandbox) {
  std::vector<ContextInfo> infos;
  for (const json& info : GB_TRY(call_in(caller, sandbox, "contexts", json::object()))) {
    infos.push_back(keeper::to_context_info(info));
  }
  return infos;
}

Result<void> LocalService::delete_context(const Caller& caller,
                                          std::string_view sandbox,
                                          std::string_view context) {
  (void)GB_TRY(call_in(caller, sandbox, "delete_context", {{"context", context}}));
  return {};
}

Result<void> LocalService::restart_context(const Caller& caller,
                                           std::string_view sandbox,
                                           std::string_view context) {
  (void)GB_TRY(call_in(caller, sandbox, "restart_context", {{"context", context}}));
  return {};
}

Result<void> LocalService::interrupt(const Caller& caller,
                                     std::string_view sandbox,
                                     std::string_view context) {
  (void)GB_TRY(call_in(caller, sandbox, "interrupt", {{"context", context}}));
  return {};
}

std::string LocalService::fresh_key() {
  return std::string(keeper::kOwnKey) + own_name_ + "-" + std::to_string(next_key_++);
}

Result<void> LocalService::execute(const Caller& caller,
                                   std::string_view sandbox,
                                   std::string_view context,
                                   const ExecuteRequest& request,
                                   const EventSink& sink) {
  (void)GB_TRY(awake(caller, sandbox));
  const ExecutionLease slot = GB_TRY(
      admission_.enter(caller.tenant, executions_of(tenants_->quotas(caller.tenant)), kMostWait));
  ExecuteRequest keyed = request;
  // The key lets us cancel it, even while it waits for its turn. A client's key is its own affair.
  keyed.idempotency_key =
      request.idempotency_key.empty() ? fresh_key() : "client-" + request.idempotency_key;
  bool left = false;
  const auto answer = keeper_.call(
      "execute", {{"sandbox", sandbox}, {"context", context}, {"request", keeper::to_json(keyed)}},
      [&](std::string_view event) {
        left = !sink(event);
        return !left;
      });
  if (left) {
    (void)call("cancel",
               {{"sandbox", sandbox}, {"context", context}, {"key", keyed.idempotency_key}});
  }
  if (!answer && !left) {
    return explain(caller, sandbox, answer.error());
  }
  return {};
}

Result<void> LocalService::reply_input(const Caller& caller,
                                       std::string_view sandbox,
                                       std::string_view context,
                                       const InputReply& reply) {
  (void)GB_TRY(call_in(caller, sandbox, "reply_input",
                       {{"context", context}, {"reply", keeper::to_json(reply)}}));
  return {};
}

Result<void> LocalService::reply_tool(const Caller& caller,
                                      std::string_view sandbox,
                                      std::string_view context,
                                      const ToolReply& reply) {
  // A sandbox that should stay paused does: its code has the answer when it continues.
  const SandboxInfo info = GB_TRY(book_.find(caller.tenant, sandbox));
  if (info.state == SandboxState::kPaused && info.auto_resume) {
    (void)GB_TRY(resume(caller, sandbox));
  }
  (void)GB_TRY(call_about(caller, sandbox, "reply_tool",
                          {{"context", context}, {"reply", keeper::to_json(reply)}}));
  return {};
}

Result<ToolWait> LocalService::tool_wait(const Caller& caller,
                                         std::string_view sandbox,
                                         std::string_view context,
                                         std::string_view call) {
  (void)GB_TRY(book_.find(caller.tenant, sandbox));
  return keeper::to_tool_wait(
      GB_TRY(call_about(caller, sandbox, "tool_wait", {{"context", context}, {"number", call}})));
}

Result<void> LocalService::agree_to_tool(const Caller& caller,
                                         std::string_view sandbox,
                                         std::string_view context,
                                         std::string_view call,
                                         std::string_view hash) {
  (void)GB_TRY(book_.find(caller.tenant, sandbox));
  (void)GB_TRY(call_about(caller, sandbox, "agree_to_tool",
                          {{"context", context}, {"number", call}, {"hash", hash}}));
  return {};
}

Result<Completion> LocalService::complete(const Caller& caller,
                                          std::string_view sandbox,
                                          std::string_view context,
                                          const CodePlace& place) {
  (void)GB_TRY(cursor_of(place));
  return keeper::to_completion(GB_TRY(call_in(
      caller, sandbox, "complete", {{"context", context}, {"place", keeper::to_json(place)}})));
}

Result<Inspection> LocalService::inspect(const Caller& caller,
                                         std::string_view sandbox,
                                         std::string_view context,
                                         const CodePlace& place,
                                         int detail) {
  (void)GB_TRY(cursor_of(place));
  return keeper::to_inspection(GB_TRY(
      call_in(caller, sandbox, "inspect",
              {{"context", context}, {"place", keeper::to_json(place)}, {"detail", detail}})));
}

Result<std::uint32_t> LocalService::checkpoint(const Caller& caller,
                                               std::string_view sandbox,
                                               std::string_view context) {
  const json number = GB_TRY(call_in(caller, sandbox, "checkpoint", {{"context", context}}));
  return number.is_number() ? number.get<std::uint32_t>() : 0;
}

Result<std::uint32_t> LocalService::rollback(const Caller& caller,
                                             std::string_view sandbox,
                                             std::string_view context,
                                             std::optional<std::uint32_t> checkpoint) {
  json arguments{{"context", context}};
  if (checkpoint) {
    arguments["checkpoint"] = *checkpoint;
  }
  const json back = GB_TRY(call_in(caller, sandbox, "rollback", std::move(arguments)));
  return back.is_number_unsigned() ? back.get<std::uint32_t>() : 0;
}

Result<ContextInfo> LocalService::fork_context(const Caller& caller,
                                               std::string_view sandbox,
                                               std::string_view context,
                                               std::uint32_t checkpoint) {
  return keeper::to_context_info(GB_TRY(call_in(
      caller, sandbox, "fork_context", {{"context", context}, {"checkpoint", checkpoint}})));
}

Result<std::vector<std::string>> LocalService::dry_runs(const Caller& caller,
                                                        std::string_view sandbox) {
  std::vector<std::string> told;
  for (const json& each : GB_TRY(call_in(caller, sandbox, "dry_runs", json::object()))) {
    if (each.is_string()) {
      told.push_back(each.get<std::string>());
    }
  }
  return told;
}

Result<void> LocalService::decide_dry_run(const Caller& caller,
                                          std::string_view sandbox,
                                          std::string_view dry_run,
                                          const DryRunDecision& decision) {
  (void)GB_TRY(
      call_in(caller, sandbox, "decide_dry_run",
              {{"dry_run", dry_run}, {"commit", decision.commit}, {"seal", decision.seal}}));
  return {};
}

Result<std::string> LocalService::notebook(const Caller& caller,
                                           std::string_view sandbox,
                                           std::string_view context,
                                           NotebookFormat format) {
  const json answer = GB_TRY(call_in(caller, sandbox, "notebook", {{"context", context}}));
  std::string text = answer.is_string() ? answer.get<std::string>() : std::string();
  return format == NotebookFormat::kHtml ? pages_.render(caller.tenant, text)
                                         : Result<std::string>(std::move(text));
}

Result<void> LocalService::judge(const Caller& caller,
                                 const JudgeRequest& request,
                                 const EventSink& sink) {
  GB_TRY(pressure_.check());
  const std::size_t most = executions_of(tenants_->quotas(caller.tenant));
  // One slot to begin with, and those that are free right now: two judges that waited for more
  // would wait for each other.
  std::vector<ExecutionLease> slots;
  slots.push_back(GB_TRY(admission_.enter(caller.tenant, most, kMostWait)));
  while (slots.size() < request.jobs) {
    auto more = admission_.enter(caller.tenant, most, std::chrono::milliseconds(0));
    if (!more) {
      break;
    }
    slots.push_back(*std::move(more));
  }
  JudgeRequest admitted = request;
  admitted.jobs = static_cast<std::uint32_t>(slots.size());
  return pass_events("judge", {{"tenant", caller.tenant}, {"request", keeper::to_json(admitted)}},
                     sink);
}

Result<void> LocalService::pass_events(std::string_view call,
                                       const json& arguments,
                                       const EventSink& sink) {
  bool left = false;
  const std::uint64_t stops = stops_;
  const auto answer = keeper_.call(call, arguments, [&](std::string_view event) {
    left = !sink(event);
    return !left && stops == stops_;
  });
  if (!answer && !left) {
    return answer.error();
  }
  return {};
}

Result<void> LocalService::run_once(const Caller& caller,
                                    const RunRequest& request,
                                    const EventSink& sink) {
  const bool replays = request.tape.recording.has_value();
  if (!replays) {
    GB_TRY(check_network(request.network, false));
  }
  GB_TRY(check_nested(request.nested));
  GB_TRY(pressure_.check());
  const ExecutionLease slot = GB_TRY(
      admission_.enter(caller.tenant, executions_of(tenants_->quotas(caller.tenant)), kMostWait));
  NetworkRules rules = request.network;
  GB_TRY(choose_placeholders(rules.credentials));
  // A replay is answered from a recording and does not get out, so no policy is checked and no
  // secret is needed.
  auto network = replays ? std::optional(keeper::NetworkOrder{.rules = rules, .public_only = false})
                         : GB_TRY(way_out(caller.tenant, rules));
  keeper::CreateOrder order;
  order.tenant = caller.tenant;
  RunRequest whole = request;
  std::string archive;
  if (request.template_name != "default") {
    const Base base = GB_TRY(base_of(caller, request.template_name));
    if (!base.image.empty()) {
      return Error(ErrorCode::kUnsupported,
                   "template '" + printable(request.template_name) +
                       "' has a workspace on disk, and code runs once in memory only",
                   "create a sandbox from it");
    }
    order = order_of(caller, base);
    order.image_user = LocalTemplates::user(base.parts, request);
    archive = base.archive;
    if (base.parts) {
      order.env = templates_.environment(*base.parts);
      whole.limits = request.limits.over(base.parts->limits);
    }
  }
  order.network = std::move(network);
  return pass_events("run",
                     {{"tenant", caller.tenant},
                      {"request", keeper::to_json(whole)},
                      {"order", keeper::to_json(order)},
                      {"archive", archive}},
                     sink);
}

}  // namespace glovebox
