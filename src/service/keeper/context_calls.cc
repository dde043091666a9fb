// SPDX-License-Identifier: Apache-2.0
// What a daemon asks about the contexts of a sandbox.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/json/json.h"
#include "service/keeper/call_arguments.h"
#include "service/keeper/call_table.h"
#include "service/keeper/codec.h"
#include "service/keeper/delivery.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;

// Whatever happens to an execution, those who follow it learn of its end.
class Finish {
 public:
  explicit Finish(ExecutionLog& log) : log_(log) {}
  Finish(const Finish&) = delete;
  Finish& operator=(const Finish&) = delete;
  ~Finish() {
    if (!log_.finished()) {
      log_.finish(Error(ErrorCode::kInternal, "the execution failed in the keeper"));
    }
  }

 private:
  ExecutionLog& log_;
};

Result<json> create_context(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  return to_json(GB_TRY(held->create_context(context.keeper.registry(),
                                             to_context_request(object_in(arguments, "request")),
                                             turn_patience(context))));
}

Result<json> contexts(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  json answer = json::array();
  for (const ContextInfo& info : held->contexts()) {
    answer.push_back(to_json(info));
  }
  return answer;
}

// How a context that a living sandbox had ended, or null.
Result<json> context_ending(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  const auto ending = held->context_ending(text_in(arguments, "context"));
  return ending ? to_json(*ending) : json();
}

Result<json> delete_context(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  GB_TRY(held->delete_context(text_in(arguments, "context")));
  return json();
}

Result<json> restart_context(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  GB_TRY(held->restart(turn_patience(context)));
  return json();
}

Result<json> interrupt(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  held->interrupt();
  return json();
}

// Cancels one execution by its key, whether it runs or waits.
Result<json> cancel(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  held->cancel(text_in(arguments, "key"));
  return json();
}

Result<json> execute(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  const auto in = GB_TRY(held->context(context.keeper.registry(), text_in(arguments, "context")));
  const ExecuteRequest request = to_execute_request(object_in(arguments, "request"));
  const Limits limits = request.limits.over(held->sandbox().limits());
  GB_TRY(validate(limits));
  const auto [log, mine] = GB_TRY(in->claim(request));
  Delivery delivery(log, context.wire);
  if (mine) {
    // An execution with a client's key keeps waiting without its caller, who may come back for it
    // or cancel it by its key.
    const bool lasts = !request.idempotency_key.starts_with(kOwnKey);
    const Patience patience{
        .wanted = [&] { return !log->canceled() && (lasts || context.listens()); }};
    const Finish finish(*log);
    in->execute(request, limits, log, delivery, patience);
    if (!lasts) {
      in->forget(request.idempotency_key);
    }
  }
  GB_TRY(delivery.finish(context.listens));
  return json();
}

// A reply ends a wait, so it uses the room of calls that end something.
Result<json> reply_input(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  GB_TRY(held->reply_input(to_input_reply(object_in(arguments, "reply"))));
  return json();
}

Result<json> reply_tool(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  GB_TRY(held->reply_tool(to_tool_reply(object_in(arguments, "reply"))));
  return json();
}

Result<json> tool_wait(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  return to_json(GB_TRY(held->tool_wait(text_in(arguments, "number"))));
}

Result<json> agree_to_tool(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  GB_TRY(held->agree_to_tool(text_in(arguments, "number"), text_in(arguments, "hash")));
  return json();
}

Result<json> complete(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  return to_json(GB_TRY(
      held->complete(to_code_place(object_in(arguments, "place")), question_patience(context))));
}

Result<json> inspect(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  return to_json(GB_TRY(held->inspect(to_code_place(object_in(arguments, "place")),
                                      static_cast<int>(number_in(arguments, "detail")),
                                      question_patience(context))));
}

Result<json> checkpoint(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  return json(GB_TRY(held->checkpoint(turn_patience(context))));
}

Result<json> rollback(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  std::optional<std::uint32_t> wanted;
  if (arguments.contains("checkpoint")) {
    wanted = static_cast<std::uint32_t>(number_in(arguments, "checkpoint"));
  }
  return json(GB_TRY(held->rollback(wanted, turn_patience(context))));
}

Result<json> fork_context(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  return to_json(GB_TRY(held->fork_context(
      text_in(arguments, "context"), static_cast<std::uint32_t>(number_in(arguments, "checkpoint")),
      turn_patience(context))));
}

Result<json> notebook(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(context_in(arguments, context));
  return json(GB_TRY(held->notebook()));
}

constexpr std::array kContextCalls = {
    Call{"create_context", create_context, CallKind::kLong},
    Call{"contexts", contexts, CallKind::kShort},
    Call{"context_ending", context_ending, CallKind::kShort},
    Call{"delete_context", delete_context, CallKind::kEnds},
    Call{"restart_context", restart_context, CallKind::kLong},
    Call{"interrupt", interrupt, CallKind::kEnds},
    Call{"cancel", cancel, CallKind::kEnds},
    Call{"execute", execute, CallKind::kStream},
    Call{"reply_input", reply_input, CallKind::kEnds},
    Call{"reply_tool", reply_tool, CallKind::kEnds},
    Call{"tool_wait", tool_wait, CallKind::kEnds},
    Call{"agree_to_tool", agree_to_tool, CallKind::kEnds},
    Call{"complete", complete, CallKind::kLong},
    Call{"inspect", inspect, CallKind::kLong},
    Call{"checkpoint", checkpoint, CallKind::kLong},
    Call{"rollback", rollback, CallKind::kLong},
    Call{"fork_context", fork_context, CallKind::kLong},
    Call{"notebook", notebook, CallKind::kLong},
};

}  // namespace

std::span<const Call> context_calls() { return kContextCalls; }

}  // namespace glovebox::keeper
