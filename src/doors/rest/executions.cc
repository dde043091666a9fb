// SPDX-License-Identifier: Apache-2.0
// Code that runs: one-shot, and in contexts.
#include "doors/rest/event_stream.h"
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"

namespace glovebox::rest {
namespace {

Result<std::optional<std::uint32_t>> read_checkpoint(Call& call, bool required) {
  Fields fields = GB_TRY(call.fields());
  const auto number = fields.count("checkpoint", 0, 0xffff'ffff);
  if (!number && required) {
    fields.refuse("checkpoint", "expected a checkpoint number");
  }
  GB_TRY(fields.done());
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

// The body is freed before the execution, which may take its time, begins.
Result<ExecuteRequest> execution_of(Call& call) {
  Fields fields = GB_TRY(call.fields());
  return read_execute_request(fields);
}

Result<void> send_notebook(Call& call,
                           SandboxService::NotebookFormat format,
                           std::string_view type) {
  const std::string text =
      GB_TRY(call.service.notebook(call.caller, call.parameters[0], call.parameters[1], format));
  // What a guest has made must not act in the name of this origin.
  call.send(200, type, text,
            {{"Content-Security-Policy", "sandbox; default-src 'unsafe-inline' data:"},
             {"X-Content-Type-Options", "nosniff"}});
  return {};
}

}  // namespace

Result<void> run_code(Call& call) {
  Fields fields = GB_TRY(call.fields());
  RunRequest request = GB_TRY(read_run_request(fields));
  request.idempotency_key = GB_TRY(call.idempotency_key());
  EventStream stream(call, wanted_format(call));
  return stream.end(call.service.run(call.caller, request,
                                     [&](std::string_view event) { return stream.pass(event); }));
}

Result<void> judge_code(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const JudgeRequest request = GB_TRY(read_judge_request(fields));
  EventStream stream(call, wanted_format(call));
  return stream.end(call.service.judge(call.caller, request,
                                       [&](std::string_view event) { return stream.pass(event); }));
}

Result<void> install_packages(Call& call) {
  Fields fields = GB_TRY(call.fields());
  PackagesRequest request;
  request.packages = fields.texts("packages", 256).value_or(std::vector<std::string>());
  request.limits = GB_TRY(read_limits(fields));
  GB_TRY(fields.done());
  EventStream stream(call, wanted_format(call));
  return stream.end(
      call.service.install_packages(call.caller, call.parameters[0], request,
                                    [&](std::string_view event) { return stream.pass(event); }));
}

Result<void> create_context(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const ContextRequest request = GB_TRY(read_context_request(fields));
  const ContextInfo info =
      GB_TRY(call.service.create_context(call.caller, call.parameters[0], request));
  call.send_json(201, "context", to_json(info));
  return {};
}

Result<void> list_contexts(Call& call) {
  Json contexts = Json::array();
  for (const ContextInfo& info : GB_TRY(call.service.contexts(call.caller, call.parameters[0]))) {
    contexts.push_back(to_json(info));
  }
  call.send_json(200, "contexts", {{"contexts", std::move(contexts)}});
  return {};
}

Result<void> delete_context(Call& call) {
  GB_TRY(call.service.delete_context(call.caller, call.parameters[0], call.parameters[1]));
  call.send_nothing();
  return {};
}

Result<void> execute(Call& call) {
  ExecuteRequest request = GB_TRY(execution_of(call));
  request.idempotency_key = GB_TRY(call.idempotency_key());
  EventStream stream(call, wanted_format(call));
  return stream.end(
      call.service.execute(call.caller, call.parameters[0], call.parameters[1], request,
                           [&](std::string_view event) { return stream.pass(event); }));
}

Result<void> interrupt_context(Call& call) {
  GB_TRY(call.service.interrupt(call.caller, call.parameters[0], call.parameters[1]));
  call.send_nothing();
  return {};
}

Result<void> reply_input(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const InputReply reply = GB_TRY(read_input_reply(fields));
  GB_TRY(call.service.reply_input(call.caller, call.parameters[0], call.parameters[1], reply));
  call.send_nothing();
  return {};
}

Result<void> reply_tool(Call& call) {
  Fields fields = GB_TRY(call.fields());
  ToolReply reply{.call = call.parameters[2]};
  reply.answer = GB_TRY(read_tool_answer(fields));
  GB_TRY(call.service.reply_tool(call.caller, call.parameters[0], call.parameters[1], reply));
  call.send_nothing();
  return {};
}

Result<void> complete_code(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const CodePlace place = GB_TRY(read_completion_request(fields));
  const Completion completion =
      GB_TRY(call.service.complete(call.caller, call.parameters[0], call.parameters[1], place));
  call.send_json(
      200, "completion",
      {{"matches", completion.matches}, {"start", completion.start}, {"end", completion.end}});
  return {};
}

Result<void> inspect_code(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const InspectionRequest request = GB_TRY(read_inspection_request(fields));
  const Inspection inspection = GB_TRY(call.service.inspect(
      call.caller, call.parameters[0], call.parameters[1], request.place, request.detail));
  call.send_json(200, "inspection", {{"found", inspection.found}, {"data", inspection.data}});
  return {};
}

Result<void> restart_context(Call& call) {
  GB_TRY(call.service.restart_context(call.caller, call.parameters[0], call.parameters[1]));
  call.send_nothing();
  return {};
}

Result<void> checkpoint_context(Call& call) {
  const std::uint32_t number =
      GB_TRY(call.service.checkpoint(call.caller, call.parameters[0], call.parameters[1]));
  call.send_json(201, "checkpoint", {{"checkpoint", number}});
  return {};
}

Result<void> rollback_context(Call& call) {
  const auto wanted = GB_TRY(read_checkpoint(call, false));
  const std::uint32_t number =
      GB_TRY(call.service.rollback(call.caller, call.parameters[0], call.parameters[1], wanted));
  call.send_json(200, "checkpoint", {{"checkpoint", number}});
  return {};
}

Result<void> fork_context(Call& call) {
  const std::uint32_t number = *GB_TRY(read_checkpoint(call, true));
  const ContextInfo info = GB_TRY(
      call.service.fork_context(call.caller, call.parameters[0], call.parameters[1], number));
  call.send_json(201, "context", to_json(info));
  return {};
}

Result<void> list_dry_runs(Call& call) {
  Json list = Json::array();
  for (const std::string& each : GB_TRY(call.service.dry_runs(call.caller, call.parameters[0]))) {
    list.push_back(Json::parse(each, nullptr, false));
  }
  call.send_json(200, "dry_runs", {{"dry_runs", std::move(list)}});
  return {};
}

Result<void> commit_dry_run(Call& call) {
  GB_TRY(call.service.decide_dry_run(call.caller, call.parameters[0], call.parameters[1],
                                     {.commit = true}));
  call.send_nothing();
  return {};
}

Result<void> discard_dry_run(Call& call) {
  GB_TRY(call.service.decide_dry_run(call.caller, call.parameters[0], call.parameters[1],
                                     {.commit = false}));
  call.send_nothing();
  return {};
}

Result<void> show_notebook(Call& call) {
  return send_notebook(call, SandboxService::NotebookFormat::kIpynb, "application/x-ipynb+json");
}

Result<void> show_notebook_page(Call& call) {
  return send_notebook(call, SandboxService::NotebookFormat::kHtml, "text/html; charset=utf-8");
}

}  // namespace glovebox::rest
