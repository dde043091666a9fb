// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/event_json.h"

#include "base/json/json.h"
#include "base/text.h"
#include "spec/json/object_text.h"
#include "spec/json/verdict_json.h"

namespace glovebox::keeper {
namespace {

// Bytes; what is longer is not a question to a person.
constexpr std::size_t kMaxPrompt = 64UL * 1024;

}  // namespace

std::string event_json(const Event& event, std::string_view sandbox) {
  using Json = nlohmann::ordered_json;
  switch (event.kind) {
    case Event::Kind::kStarted:
      return ObjectText()
          .add("type", "started")
          .add("id", sandbox)
          .add("phase", "execute")
          .add("execution_count", event.execution_count)
          .take();
    case Event::Kind::kStdout:
      return output_event("stdout", event.text);
    case Event::Kind::kStderr:
      return output_event("stderr", event.text);
    case Event::Kind::kDisplay:
    case Event::Kind::kResult:
      return result_event(event);
    case Event::Kind::kError:
      return error_event(event.error);
    case Event::Kind::kClear:
      return Json{{"type", "clear"}, {"wait", event.update}}.dump();
    case Event::Kind::kNote:
      return Json{{"type", "note"}, {"text", to_utf8(event.text)}}.dump();
    case Event::Kind::kInputRequest:
      return Json{{"type", "input_request"},
                  {"request", event.request},
                  {"prompt", to_utf8(std::string_view(event.text).substr(0, kMaxPrompt))},
                  {"password", event.secret}}
          .dump();
    case Event::Kind::kToolCall: {
      // The arguments stay as the code wrote them.
      std::string text = Json{{"type", "tool_call"},
                              {"id", std::to_string(event.request)},
                              {"name", to_utf8(event.text)}}
                             .dump();
      text.replace(text.size() - 1, 1, ",\"arguments\":" + event.arguments + "}");
      return text;
    }
  }
  return {};
}

}  // namespace glovebox::keeper
