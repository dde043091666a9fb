// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/call_gate.h"

#include <utility>

#include "base/digest/digest.h"
#include "base/json/json.h"
#include "guard/policy/assessment_json.h"
#include "guard/policy/call_assessment.h"
#include "spec/json/raw_json.h"
#include "trace/span.h"

namespace glovebox {
namespace {

using json = nlohmann::ordered_json;
using policy::Action;

constexpr std::string_view kCallEvent = R"({"type":"tool_call",)";
constexpr const char* kOver = "the call was decided before, or its execution has ended";

// A text member as it is in the event, or nothing.
std::string text_of(std::string_view event, std::string_view name) {
  const json value = json::parse(raw_member(event, name).value_or("null"), nullptr, false);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace

bool CallGate::take(std::string_view event) {
  // Most events are output, and need not be parsed.
  if (!event.starts_with(kCallEvent)) {
    return sink_(event);
  }
  const Call call{.id = text_of(event, "id"),
                  .name = text_of(event, "name"),
                  .arguments = raw_member(event, "arguments").value_or("null")};
  policy::Assessment assessment = policy::assess_call(policies_, call.name, call.arguments);
  switch (assessment.decision) {
    case Action::kAsk:
      return ask(call, std::move(assessment), event);
    case Action::kRefuse:
      return refuse(call, "the policy refuses this call: " + policy::reason_of_call(assessment));
    default:
      return sink_(event);
  }
}

bool CallGate::ask(const Call& call, policy::Assessment assessment, std::string_view event) {
  // An execution that is followed again, for example after a restart of the daemon, repeats calls
  // that were decided long ago. Nobody has to look at a call that is over, and nobody may carry it
  // out.
  const ToolWait now = wait_of(call);
  if (!now.open) {
    return refuse(call, kOver);
  }
  Approval question = question_about(call, std::move(assessment));
  const std::string hash = question.hash;
  if (now.agreed == hash) {
    return sink_(event);
  }
  const trace::Span span("approval");
  bool left = false;
  bool over = false;
  const auto agreed = approvals_.wait(std::move(question), [&](const Approval* asked) {
    over = asked == nullptr && !wait_of(call).open;
    left = !over &&
           !sink_(asked == nullptr ? std::string()
                                   : policy::approval_needed_event(asked->id, asked->assessment,
                                                                   asked->grants, asked->hash));
    return !over && !left;
  });
  if (left) {
    return false;
  }
  if (!agreed) {
    return refuse(call, over ? kOver : agreed.error().message());
  }
  // Before any client that may carry out the call hears of it.
  const auto kept =
      place_.service.agree_to_tool(place_.caller, place_.sandbox, place_.context, call.id, hash);
  return kept ? sink_(event) : refuse(call, kept.error().message());
}

bool CallGate::refuse(const Call& call, const std::string& why) {
  // If the call is over, nobody waits for this.
  (void)place_.service.reply_tool(place_.caller, place_.sandbox, place_.context,
                                  {.call = call.id, .answer = {.error = why}});
  // The arguments stay as they are: an audit journal names their hash.
  std::string event = json{{"type", "tool_refused"}, {"id", call.id}, {"name", call.name}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
  event.replace(event.size() - 1, 1, ",\"message\":" + json(why).dump());
  return sink_(event + ",\"arguments\":" + std::string(call.arguments) + "}");
}

ToolWait CallGate::wait_of(const Call& call) const {
  auto found = place_.service.tool_wait(place_.caller, place_.sandbox, place_.context, call.id);
  return found ? std::move(found).value() : ToolWait{};
}

Approval CallGate::question_about(const Call& call, policy::Assessment assessment) const {
  ContentHash hash;
  hash.add(kToolCallKind).add(place_.sandbox).add(place_.context);
  hash.add(call.name).add(call.arguments);
  for (const policy::Policy& policy : policies_) {
    hash.add(policy.origin);
  }
  return {.tenant = place_.caller.tenant,
          .sandbox = std::string(place_.sandbox),
          .kind = std::string(kToolCallKind),
          .language = "json",
          .code = call.name + " " + std::string(call.arguments),
          .assessment = std::move(assessment),
          .hash = hash.hex()};
}

}  // namespace glovebox
