// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/task_fixtures.h"

#include <poll.h>

#include <algorithm>
#include <future>
#include <string>
#include <utility>

namespace glovebox::mcp {
namespace {

constexpr double kMostSeconds = 3'600;

Json said(const std::string& text) {
  return {{"content", Json::array({{{"type", "text"}, {"text", text}}})}};
}

// Until then, or until nobody wants the result any more.
void sleep(const Call& call, double seconds) {
  pollfd waits{call.cancellation().fd(), POLLIN, 0};
  (void)::poll(&waits, 1, static_cast<int>(std::clamp(seconds, 0.0, kMostSeconds) * 1'000));
}

// Whether the client's user has accepted a form with one field.
bool asks(const Call& call, const std::string& message, const Json& property) {
  const auto answer = call.ask(
      "elicitation/create", {{"mode", "form"},
                             {"message", message},
                             {"requestedSchema", {{"type", "object"}, {"properties", property}}}});
  return answer && text_member(*answer, "action") == "accept";
}

Reply confirm_delete(const Call& call) {
  const std::string file = text_member(call.arguments(), "filename").value_or("");
  return said(asks(call, "Delete " + file + "?", {{"confirm", {{"type", "boolean"}}}})
                  ? "deleted " + file
                  : "kept " + file);
}

// Two questions at once.
Reply ask_twice(const Call& call) {
  const Json property{{"name", {{"type", "string"}}}};
  auto first = std::async(std::launch::async, asks, std::cref(call), "First name?", property);
  const bool second = asks(call, "Second name?", property);
  return said(first.get() && second ? "both" : "not both");
}

}  // namespace

Json task_fixtures() {
  const auto tool = [](const char* name, const Json& properties) {
    return Json{{"name", name},
                {"description", std::string("A fixture: ") + name},
                {"inputSchema", {{"type", "object"}, {"properties", properties}}}};
  };
  const Json text{{"type", "string"}};
  return Json::array(
      {tool("greet", {{"name", text}}),
       tool("slow_compute", {{"seconds", {{"type", "number"}}}, {"label", text}}),
       tool("failing_job", Json::object()), tool("protocol_error_job", Json::object()),
       tool("confirm_delete", {{"filename", text}}), tool("multi_input", Json::object())});
}

std::optional<TaskUse> use_of_task_fixture(const Call& call) {
  const std::string name = call.name();
  if (name == kAsksBeforeItsTask) {
    return call.params().contains("inputResponses") ? std::optional(TaskUse{.required = true})
                                                    : std::nullopt;
  }
  if (name == "failing_job") {
    return TaskUse{.required = true};
  }
  const bool may = name == "slow_compute" || name == "protocol_error_job" ||
                   name == "confirm_delete" || name == "multi_input";
  return may ? std::optional(TaskUse{}) : std::nullopt;
}

std::optional<Reply> call_task_fixture(const Call& call) {
  const std::string name = call.name();
  if (name == "greet") {
    return said("Hello, " + text_member(call.arguments(), "name").value_or("") + "!");
  }
  if (name == "slow_compute") {
    const auto seconds = call.arguments().find("seconds");
    sleep(call,
          seconds != call.arguments().end() && seconds->is_number() ? seconds->get<double>() : 0);
    return said("done");
  }
  if (name == "failing_job") {
    sleep(call, 1);
    Json result = said("the job has failed");
    result["isError"] = true;
    return result;
  }
  if (name == "protocol_error_job") {
    sleep(call, 0.2);
    return RpcError{.code = code::kInternal, .message = "the job broke"};
  }
  if (name == "confirm_delete") {
    return confirm_delete(call);
  }
  return name == "multi_input" ? std::optional(ask_twice(call)) : std::nullopt;
}

}  // namespace glovebox::mcp
