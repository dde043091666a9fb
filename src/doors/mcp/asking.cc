// SPDX-License-Identifier: Apache-2.0
// Code that calls input(), and the client that is asked for what it reads.
#include <functional>
#include <memory>
#include <utility>

#include "base/text.h"
#include "doors/mcp/tools.h"

namespace glovebox::mcp {
namespace {

constexpr const char* kInput = "input";
// Of a prompt, which the code has written: a person reads it.
constexpr std::size_t kMostPrompt = 1'000;

// A form with one field. That it is the code who asks stands in front, for it may ask for anything.
Json form_of(const std::string& prompt) {
  const std::string shown =
      printable(AnsiStripper().strip(to_utf8(std::string_view(prompt).substr(0, kMostPrompt))));
  return {
      {"message", shown.find_first_not_of(' ') == std::string::npos
                      ? "Code in a sandbox asks for a line of input."
                      : "Code in a sandbox asks: " + shown},
      {"requestedSchema",
       {{"type", "object"}, {"properties", {{kInput, {{"type", "string"}, {"title", "Input"}}}}}}}};
}

// The line that a response to the form brings; nothing, the end of input, where it brings none.
std::optional<std::string> line_of(const Params& response) {
  if (text_member(response, "action") != "accept") {
    return std::nullopt;
  }
  const Params content = response.value("content", Params::object());
  // A field that was left empty may be absent.
  if (content.is_object() && !content.contains(kInput)) {
    return std::string();
  }
  auto line = content.is_object() ? text_member(content, kInput) : std::nullopt;
  return line && line->size() <= InputReply::kMaxValue ? line : std::nullopt;
}

std::string arguments_of(const ToolCall& call) { return call.call.arguments().dump(); }

// The response that asks the client, who brings the state back; nothing when too many wait.
std::optional<Json> ask_by_response(ToolCall& call, std::unique_ptr<AskingExecution>& execution) {
  const std::string prompt = execution->question().value_or("");
  const auto state = call.parked.park(call.call.caller(), arguments_of(call), execution);
  if (!state) {
    return std::nullopt;
  }
  return Json{{"resultType", "input_required"},
              {"inputRequests",
               {{kInput, {{"method", "elicitation/create"}, {"params", form_of(prompt)}}}}},
              {"requestState", *state}};
}

// Until its end, or its next question for a client that is asked by a response.
Result<AskedVerdict> go_on(ToolCall& call, std::unique_ptr<AskingExecution> execution) {
  OutputProgress progress(call.call);
  AskedVerdict asked{.place = execution->place()};
  for (;;) {
    switch (execution->wait(call.call.cancellation(), progress)) {
      case AskingExecution::Stop::kEnded:
        asked.verdict = GB_TRY(execution->verdict());
        return asked;
      case AskingExecution::Stop::kCanceled:
        return Error(ErrorCode::kUnavailable, "the call was canceled");
      case AskingExecution::Stop::kAsks:
        break;
    }
    if (call.call.stateless()) {
      if (auto question = ask_by_response(call, execution)) {
        asked.question = *std::move(question);
        return asked;
      }
      execution->answer({});
      continue;
    }
    const auto response = call.call.ask("elicitation/create", form_of(*execution->question()),
                                        [&] { return execution->ended(); });
    execution->answer(response ? line_of(*response) : std::nullopt);
  }
}

}  // namespace

bool is_answer_to_code(const Call& call) {
  return call.stateless() && call.params().contains("requestState");
}

Result<AskedVerdict> execute_asking(ToolCall& call,
                                    const AskingExecution::Place& place,
                                    const ExecuteRequest& request) {
  Conversation& conversation = call.call.conversation();
  std::function<void()> ended;
  if (!call.call.stateless()) {
    ended = [&conversation] { conversation.wake(); };
  }
  return go_on(call, std::make_unique<AskingExecution>(call.service, call.call.caller(), place,
                                                       request, std::move(ended)));
}

Result<AskedVerdict> resume_asking(ToolCall& call) {
  const auto state = text_member(call.call.params(), "requestState").value_or("");
  auto execution = GB_TRY(call.parked.take(call.call.caller(), arguments_of(call), state));
  const Params responses = call.call.params().value("inputResponses", Params::object());
  // One that brings none is asked again.
  if (const auto response = responses.is_object() ? responses.find(kInput) : responses.end();
      responses.is_object() && response != responses.end() && response->is_object()) {
    execution->answer(line_of(*response));
  }
  return go_on(call, std::move(execution));
}

}  // namespace glovebox::mcp
