// SPDX-License-Identifier: Apache-2.0
// What code asks for while it is executed, on its way out, and the answers on their way in.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "context/executing.h"

namespace glovebox {
namespace {

// How much may wait to be read by an agent, beyond the code, before it gets no more answers.
constexpr std::size_t kMaxUnsent = 1UL << 20;

}  // namespace

bool Executing::open_input(Event& event) {
  if (context_.link_.unsent() > kMaxUnsent) {
    return false;  // It asks without listening.
  }
  const bool allowed = options_.requests != nullptr && options_.allow_input;
  if (allowed && cause_ == Cause::kItself) {
    const auto request = options_.requests->open_line();
    event.request = request.value_or(0);
    return request.has_value();
  }
  context_.link_.send(agent::Request::kInput, channel_, agent::encode_input(nullptr));
  return !allowed;
}

void Executing::open_call(const agent::ToolCall& call) {
  if (context_.link_.unsent() > kMaxUnsent) {
    return;
  }
  std::string refusal = refusal_of(call);
  if (refusal.empty() && !options_.tools_refused.empty()) {
    refusal = options_.tools_refused;
    if (execution_.refused_calls.size() < RefusedCall::kMostKept) {
      execution_.refused_calls.push_back(
          {.name = call.name, .arguments = call.arguments.substr(0, RefusedCall::kMaxArguments)});
    }
  }
  const auto request = refusal.empty() ? options_.requests->open_call(call.number) : std::nullopt;
  if (!request) {
    if (refusal.empty()) {
      refusal = "too many calls are open; wait for one of them to return";
    }
    const auto answer = agent::encode(call.number, {.result = {}, .error = std::move(refusal)});
    context_.link_.send(agent::Request::kToolResult, channel_, answer.value());
    return;
  }
  ++calls_;
  if (open_calls_++ == 0) {
    open_since_ = now();
  }
  show({.kind = Event::Kind::kToolCall,
        .text = call.name,
        .request = *request,
        .arguments = call.arguments});
}

std::string Executing::refusal_of(const agent::ToolCall& call) const {
  if (cause_ != Cause::kItself) {
    return "the execution was interrupted";
  }
  if (options_.requests == nullptr ||
      std::ranges::find(options_.tools.tools, call.name, &Tool::name) ==
          options_.tools.tools.end()) {
    return "no tool '" + printable(call.name.substr(0, 100)) + "' in this execution";
  }
  if (calls_ >= options_.tools.calls) {
    return "an execution may call tools " + std::to_string(options_.tools.calls) + " times";
  }
  return call.refusal;
}

bool Executing::takes_answers() const {
  return options_.requests != nullptr && context_.link_.unsent() <= kMaxUnsent;
}

void Executing::pass_answers() {
  while (takes_answers()) {
    const auto answer = options_.requests->take();
    if (!answer) {
      return;
    }
    if (answer->type == agent::Request::kToolResult && --open_calls_ == 0) {
      waited_ += now() - open_since_;
    }
    context_.link_.send(answer->type, channel_, answer->payload);
  }
}

Executing::Clock::time_point Executing::deadline() const {
  const Clock::duration open = open_calls_ > 0 ? now() - open_since_ : Clock::duration{};
  return start_ + options_.limits.wall +
         std::min<Clock::duration>(waited_ + open, options_.tools.wait);
}

}  // namespace glovebox
