// SPDX-License-Identifier: Apache-2.0
// What a daemon asks about the processes of a sandbox.
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/json/json.h"
#include "service/keeper/call_arguments.h"
#include "service/keeper/call_table.h"
#include "service/keeper/codec.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;

Result<json> start_process(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  const ProcessRequest request = to_process_request(object_in(arguments, "request"));
  const auto started = GB_TRY(held->start_process(request));
  if (request.start_only) {
    context.tell(
        pack(to_json(ProcessEvent{.kind = ProcessEvent::Kind::kStarted, .pid = started->pid()})));
    return json();
  }
  context.following = {.sandbox = held, .process = started, .from_start = true};
  return json();
}

Result<json> attach_process(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(process_in(arguments, context));
  context.following = {.sandbox = held.sandbox, .process = held.inner, .from_start = false};
  return json();
}

Result<json> processes(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  json answer = json::array();
  for (const ProcessInfo& info : held->processes()) {
    answer.push_back(to_json(info));
  }
  return answer;
}

Result<json> signal_process(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(process_in(arguments, context));
  GB_TRY(held->signal(static_cast<int>(number_in(arguments, "signal"))));
  return json();
}

Result<json> write_process(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(process_in(arguments, context));
  std::optional<DryRunGate::Pass> pass;
  if (!held->is_dry_run()) {
    pass.emplace(GB_TRY(held.sandbox->change()));
  }
  GB_TRY(held->write(text_in(arguments, "bytes")));
  return json();
}

Result<json> close_stdin(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(process_in(arguments, context));
  GB_TRY(held->close_stdin());
  return json();
}

Result<json> resize(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(process_in(arguments, context));
  GB_TRY(held->resize({.columns = static_cast<std::uint16_t>(number_in(arguments, "columns")),
                       .rows = static_cast<std::uint16_t>(number_in(arguments, "rows"))}));
  return json();
}

constexpr std::array kProcessCalls = {
    Call{"start_process", start_process, CallKind::kStream},
    Call{"attach_process", attach_process, CallKind::kStream},
    Call{"processes", processes, CallKind::kShort},
    Call{"signal_process", signal_process, CallKind::kEnds},
    Call{"write_process", write_process, CallKind::kShort},
    Call{"close_stdin", close_stdin, CallKind::kShort},
    Call{"resize", resize, CallKind::kShort},
};

}  // namespace

std::span<const Call> process_calls() { return kProcessCalls; }

}  // namespace glovebox::keeper
