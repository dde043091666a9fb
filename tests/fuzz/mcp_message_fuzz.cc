// SPDX-License-Identifier: Apache-2.0
// Messages of MCP clients: what is accepted is a whole message that means the same when it is
// written again, what is refused names an id only if the client sent one, and the arguments of a
// tool are within the bounds that the tool set.
#include "doors/mcp/message.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "doors/mcp/tool_arguments.h"
#include "require.h"

namespace {

using namespace glovebox::mcp;

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

// Every message that we write is one line of JSON, whatever is in it.
void require_line(const std::string& text) {
  require(text.find('\n') == std::string::npos && Json::accept(text));
}

void fuzz_arguments(const Params& params) {
  constexpr std::chrono::milliseconds kMostTime{60'000};
  const auto given = params.find("arguments");
  ToolArguments arguments(given != params.end() ? *given : params);
  (void)arguments.text("code");
  (void)arguments.required_text("name");
  (void)arguments.flag("fresh");
  const auto count = arguments.count("offset", 100);
  const auto time = arguments.seconds("timeout", kMostTime);
  const auto texts = arguments.texts("packages", 4);
  const auto environment = arguments.environment("env", 4);
  if (arguments.done()) {
    require(!count || *count <= 100);
    require(!time || (*time >= std::chrono::milliseconds::zero() && *time <= kMostTime));
    require(texts.size() <= 4 && environment.size() <= 4);
    for (const auto& [name, value] : environment) {
      require(name.find('=') == std::string::npos && value.find('\0') == std::string::npos);
    }
  }
}

void fuzz_message(const Message& message) {
  switch (message.kind) {
    case Message::Kind::kRequest: {
      require(is_id(message.id) && message.params.is_object());
      const std::string written = request_text(message.id, message.method, Json(message.params));
      require_line(written);
      const auto again = parse_message(written);
      const auto* const same = std::get_if<Message>(&again);
      require(same != nullptr && same->kind == message.kind && same->id == message.id &&
              same->method == message.method && same->params == message.params);
      break;
    }
    case Message::Kind::kNotification:
      require(message.id.is_null() && message.params.is_object());
      require_line(notification_text(message.method, Json(message.params)));
      break;
    case Message::Kind::kResponse:
      require(message.method.empty());
      break;
  }
  fuzz_arguments(message.params);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse_message(input);
  if (const auto* const malformed = std::get_if<Malformed>(&parsed)) {
    require(malformed->id.is_null() || is_id(malformed->id));
    require(malformed->error.code < 0 && !malformed->error.message.empty());
    require_line(response_text(malformed->id, malformed->error));
    return 0;
  }
  fuzz_message(std::get<Message>(parsed));
  return 0;
}
