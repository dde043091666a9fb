// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/fixtures.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "doors/mcp/task_fixtures.h"

namespace glovebox::mcp {
namespace {

constexpr std::string_view kPixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg"
    "==";
constexpr std::string_view kSound =
    "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";
constexpr int kPause = 50;  // Milliseconds between notifications, as the suite wants them.

// Tools whose result is always the same.
const Json& fixed_results() {
  static const Json kResults{
      {"test_simple_text",
       Json::array({{{"type", "text"}, {"text", "This is a simple text response for testing."}}})},
      {"test_image_content",
       Json::array({{{"type", "image"}, {"data", kPixel}, {"mimeType", "image/png"}}})},
      {"test_audio_content",
       Json::array({{{"type", "audio"}, {"data", kSound}, {"mimeType", "audio/wav"}}})},
      {"test_embedded_resource",
       Json::array({{{"type", "resource"},
                     {"resource",
                      {{"uri", "test://embedded-resource"},
                       {"mimeType", "text/plain"},
                       {"text", "This is an embedded resource content."}}}}})},
      {"test_multiple_content_types",
       Json::array({{{"type", "text"}, {"text", "Multiple content types test:"}},
                    {{"type", "image"}, {"data", kPixel}, {"mimeType", "image/png"}},
                    {{"type", "resource"},
                     {"resource",
                      {{"uri", "test://mixed-content-resource"},
                       {"mimeType", "application/json"},
                       {"text", R"({"test":"data","value":123})"}}}}})}};
  return kResults;
}

Json text_result(const std::string& text) {
  return {{"content", Json::array({{{"type", "text"}, {"text", text}}})}};
}

Json error_result(const std::string& text) {
  Json result = text_result(text);
  result["isError"] = true;
  return result;
}

Json elicitation(const std::string& message, const Json& properties, const Json& required) {
  return {{"method", "elicitation/create"},
          {"params",
           {{"mode", "form"},
            {"message", message},
            {"requestedSchema",
             {{"type", "object"}, {"properties", properties}, {"required", required}}}}}};
}

Json question(const std::string& message, const std::string& name) {
  return elicitation(message, {{name, {{"type", "string"}}}}, Json::array({name}));
}

Json sampling(const std::string& prompt, int tokens) {
  return {{"method", "sampling/createMessage"},
          {"params",
           {{"messages",
             Json::array({{{"role", "user"}, {"content", {{"type", "text"}, {"text", prompt}}}}})},
            {"maxTokens", tokens}}}};
}

Json roots() { return {{"method", "roots/list"}, {"params", Json::object()}}; }

Json default_values() {
  return Json::parse(R"({
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": true}})");
}

Json enum_variants() {
  return Json::parse(R"({
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": [
      {"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"},
      {"const": "value3", "title": "Third Option"}]},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
      "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string",
      "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": [
      {"const": "value1", "title": "First Choice"}, {"const": "value2", "title": "Second Choice"},
      {"const": "value3", "title": "Third Choice"}]}}})");
}

// What a tool or a prompt asks for before it has a result, in rounds.
struct Inquiry {
  bool has_state = false;
  std::vector<Json> rounds{};  // Key to request.
  std::string result{};
};

const std::map<std::string, Inquiry, std::less<>>& inquiries() {
  const Json confirm = {{"confirm", elicitation("Please confirm", {{"ok", {{"type", "boolean"}}}},
                                                Json::array({"ok"}))}};
  static const std::map<std::string, Inquiry, std::less<>> kInquiries{
      {"test_input_required_result_elicitation",
       {.rounds = {{{"user_name", question("What is your name?", "name")}}}, .result = "Hello, "}},
      {"test_input_required_result_sampling",
       {.rounds = {{{"capital_question", sampling("What is the capital of France?", 100)}}},
        .result = "The answer: "}},
      {"test_input_required_result_list_roots",
       {.rounds = {{{"client_roots", roots()}}}, .result = "The roots: "}},
      {"test_input_required_result_request_state",
       {.has_state = true, .rounds = {confirm}, .result = "state-ok "}},
      {"test_input_required_result_tampered_state",
       {.has_state = true, .rounds = {confirm}, .result = "state-ok "}},
      {"test_input_required_result_multiple_inputs",
       {.has_state = true,
        .rounds = {{{"user_name", question("What is your name?", "name")},
                    {"greeting", sampling("Generate a greeting", 50)},
                    {"client_roots", roots()}}},
        .result = "All inputs: "}},
      {"test_input_required_result_multi_round",
       {.has_state = true,
        .rounds = {{{"step1", question("Step 1: What is your name?", "name")}},
                   {{"step2", question("Step 2: What is your favorite color?", "color")}}},
        .result = "Both steps: "}},
      {"test_input_required_result_capabilities",
       {.rounds = {{{"user_name", question("What is your name?", "name")},
                    {"greeting", sampling("Generate a greeting", 50)}}},
        .result = "Inputs: "}},
      {std::string(kAsksBeforeItsTask),
       {.rounds = {{{"user_name", question("What is your name?", "name")}}}, .result = "Hello, "}},
      {"test_streaming_elicitation",
       {.rounds = {{{"user_name", question("What is your name?", "name")}}}, .result = "Hello, "}},
      {"test_input_required_result_prompt",
       {.rounds = {{{"user_context", question("What context should the prompt use?", "context")}}},
        .result = "The context: "}}};
  return kInquiries;
}

bool is_prompt(std::string_view name) { return name == "test_input_required_result_prompt"; }

std::string_view capability_of(const Json& request) {
  const std::string method = request["method"];
  return method.starts_with("elicitation") ? "elicitation"
         : method.starts_with("sampling")  ? "sampling"
                                           : "roots";
}

bool answers(const Params& response, const Json& request) {
  if (!response.is_object()) {
    return false;
  }
  const std::string_view kind = capability_of(request);
  return kind == "elicitation" ? response.contains("action")
         : kind == "sampling"  ? response.contains("content")
                               : response.contains("roots") && response["roots"].is_array();
}

Json listed_tools() {
  const Json none{{"type", "object"}, {"properties", Json::object()}};
  Json tools = Json::array();
  const auto add = [&](const std::string& name, const Json& schema) {
    tools.push_back(
        {{"name", name}, {"description", "A fixture: " + name}, {"inputSchema", schema}});
  };
  for (const auto& [name, content] : fixed_results().items()) {
    add(name, none);
  }
  for (const char* const name :
       {"test_error_handling", "test_tool_with_logging", "test_logging_tool",
        "test_tool_with_progress", "test_missing_capability", "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums", "test_reconnection"}) {
    add(name, none);
  }
  for (const auto& [name, argument] :
       {std::pair("test_sampling", "prompt"), std::pair("test_elicitation", "message")}) {
    add(name, {{"type", "object"},
               {"properties", {{argument, {{"type", "string"}}}}},
               {"required", Json::array({argument})}});
  }
  for (const auto& [name, inquiry] : inquiries()) {
    if (!is_prompt(name)) {
      add(name, none);
    }
  }
  for (const Json& each : task_fixtures()) {
    tools.push_back(each);
  }
  add("test_mirrored_argument", Json::parse(R"({"type": "object", "required": ["region"],
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})"));
  // Keywords of JSON Schema 2020-12, which nothing on the way may drop.
  add("json_schema_2020_12_tool", Json::parse(R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
      "contactMethod": {"type": "string", "enum": ["phone", "email"]},
      "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]},
    "additionalProperties": false})"));
  return tools;
}

Json listed_prompts() {
  const auto argument = [](const char* name) {
    return Json{{"name", name}, {"description", name}, {"required", true}};
  };
  return Json::array(
      {{{"name", "test_simple_prompt"}, {"description", "Without arguments"}},
       {{"name", "test_prompt_with_arguments"},
        {"description", "With arguments"},
        {"arguments", Json::array({argument("arg1"), argument("arg2")})}},
       {{"name", "test_prompt_with_embedded_resource"},
        {"description", "With a resource"},
        {"arguments", Json::array({argument("resourceUri")})}},
       {{"name", "test_prompt_with_image"}, {"description", "With an image"}},
       {{"name", "test_input_required_result_prompt"}, {"description", "With a question"}}});
}

Json prompt_messages(const std::vector<Json>& contents) {
  Json messages = Json::array();
  for (const Json& content : contents) {
    messages.push_back({{"role", "user"}, {"content", content}});
  }
  return {{"messages", std::move(messages)}};
}

Json text_content(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

std::optional<Json> prompt(const Call& call) {
  const std::string name = call.name();
  const auto argument = [&](const char* which) {
    return text_member(call.arguments(), which).value_or("");
  };
  if (name == "test_simple_prompt") {
    return prompt_messages({text_content("This is a simple prompt for testing.")});
  }
  if (name == "test_prompt_with_arguments") {
    return prompt_messages({text_content("Prompt with arguments: arg1='" + argument("arg1") +
                                         "', arg2='" + argument("arg2") + "'")});
  }
  if (name == "test_prompt_with_embedded_resource") {
    return prompt_messages({{{"type", "resource"},
                             {"resource",
                              {{"uri", argument("resourceUri")},
                               {"mimeType", "text/plain"},
                               {"text", "Embedded resource content for testing."}}}},
                            text_content("Please process the embedded resource above.")});
  }
  if (name == "test_prompt_with_image") {
    return prompt_messages({{{"type", "image"}, {"data", kPixel}, {"mimeType", "image/png"}},
                            text_content("Please analyze the image above.")});
  }
  return std::nullopt;
}

Reply read_resource(const Call& call) {
  const std::string uri = text_member(call.params(), "uri").value_or("");
  constexpr std::string_view kBegin = "test://template/";
  constexpr std::string_view kEnd = "/data";
  Json contents{{"uri", uri}};
  if (uri == "test://static-text" || uri == "test://watched-resource") {
    contents["mimeType"] = "text/plain";
    contents["text"] = "This is the content of the static text resource.";
  } else if (uri == "test://static-binary") {
    contents["mimeType"] = "image/png";
    contents["blob"] = kPixel;
  } else if (uri.starts_with(kBegin) && uri.ends_with(kEnd) &&
             uri.size() > kBegin.size() + kEnd.size()) {
    const std::string id = uri.substr(kBegin.size(), uri.size() - kBegin.size() - kEnd.size());
    contents["mimeType"] = "application/json";
    contents["text"] =
        Json{{"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}}.dump();
  } else {
    return RpcError{.code = call.stateless() ? code::kInvalidParams : code::kLegacyNotFound,
                    .message = "resource not found",
                    .data = {{"uri", uri}}};
  }
  return Json{{"contents", Json::array({std::move(contents)})}};
}

Json listed_resources() {
  const auto resource = [](const char* uri, const char* type) {
    return Json{{"uri", uri}, {"name", uri}, {"description", "A fixture"}, {"mimeType", type}};
  };
  return Json::array({resource("test://static-text", "text/plain"),
                      resource("test://static-binary", "image/png"),
                      resource("test://watched-resource", "text/plain")});
}

Reply missing_capability(const char* name) {
  return RpcError{.code = code::kMissingCapability,
                  .message = "the client must declare the capability '" + std::string(name) + "'",
                  .data = {{"requiredCapabilities", {{name, Json::object()}}}}};
}

void pause() { (void)::poll(nullptr, 0, kPause); }

// Asks the client during a call, in revisions that let a server do so.
Reply ask(const Call& call, const Json& request, const std::string& title) {
  if (!call.client_can(capability_of(request))) {
    return error_result("the client does not support " + std::string(capability_of(request)));
  }
  const auto answer = call.ask(request["method"].get<std::string>(), request["params"]);
  if (!answer) {
    return error_result(answer.error().message());
  }
  if (answer->contains("content") && answer->at("content").contains("text")) {
    return text_result(title + text_member(answer->at("content"), "text").value_or(""));
  }
  return text_result(title + "action=" + text_member(*answer, "action").value_or("") +
                     ", content=" + answer->value("content", Params::object()).dump());
}

}  // namespace

Features::Info Fixtures::info() const {
  return {.name = "glovebox-fixtures", .title = "Glovebox fixtures", .version = GB_VERSION};
}

std::string Fixtures::instructions() const { return "Fixtures of the conformance suite."; }

Json Fixtures::capabilities(bool stateless) const {
  Json capabilities{{"tools", Json::object()},
                    {"resources", Json::object()},
                    {"prompts", Json::object()},
                    {"completions", Json::object()},
                    {"logging", Json::object()}};
  if (!stateless) {
    capabilities["resources"]["subscribe"] = true;
  }
  return capabilities;
}

std::optional<TaskUse> Fixtures::task_use(const Call& call) const {
  return use_of_task_fixture(call);
}

std::vector<Features::Mirrored> Fixtures::mirrored(std::string_view tool) const {
  if (tool != "test_mirrored_argument") {
    return {};
  }
  return {{.argument = "region", .name = "Region"}};
}

std::optional<Reply> Fixtures::handle(const Call& call) {
  const std::string& method = call.method();
  if (method == "tools/list") {
    return Json{{"tools", listed_tools()}};
  }
  if (method == "prompts/list") {
    return Json{{"prompts", listed_prompts()}};
  }
  if (method == "resources/list") {
    return Json{{"resources", listed_resources()}};
  }
  if (method == "resources/templates/list") {
    return Json{{"resourceTemplates", Json::array({{{"uriTemplate", "test://template/{id}/data"},
                                                    {"name", "template"},
                                                    {"description", "A fixture"},
                                                    {"mimeType", "application/json"}}})}};
  }
  if (method == "resources/read") {
    return read_resource(call);
  }
  if (method == "completion/complete") {
    return Json{{"completion", {{"values", Json::array()}, {"total", 0}, {"hasMore", false}}}};
  }
  if (method == "tools/call") {
    return call_tool(call);
  }
  if (method == "prompts/get") {
    if (auto found = prompt(call)) {
      return *std::move(found);
    }
    return is_prompt(call.name())
               ? ask_for_input(call)
               : Reply(RpcError{.code = code::kInvalidParams, .message = "unknown prompt"});
  }
  return std::nullopt;
}

Reply Fixtures::call_tool(const Call& call) const {
  const std::string name = call.name();
  if (const auto fixed = fixed_results().find(name); fixed != fixed_results().end()) {
    return Json{{"content", *fixed}};
  }
  if (name == "test_error_handling") {
    return error_result("This tool intentionally returns an error for testing");
  }
  if (name == "test_tool_with_logging" || name == "test_logging_tool") {
    call.log("info", "Tool execution started");
    pause();
    call.log("info", "Tool processing data");
    pause();
    call.log("info", "Tool execution completed");
    return text_result("done");
  }
  if (name == "test_tool_with_progress") {
    for (const int progress : {0, 50, 100}) {
      call.progress(progress, 100, {});
      pause();
    }
    return text_result("done");
  }
  if (name == "test_reconnection") {
    call.release();
    pause();
    return text_result("done");
  }
  if (name == "test_missing_capability") {
    return call.client_can("sampling") ? Reply(text_result("done"))
                                       : missing_capability("sampling");
  }
  const auto argument = [&](const char* which) {
    return text_member(call.arguments(), which).value_or("");
  };
  if (name == "test_sampling") {
    return ask(call, sampling(argument("prompt"), 100), "LLM response: ");
  }
  if (name == "test_elicitation") {
    return ask(
        call,
        elicitation(argument("message"),
                    {{"username", {{"type", "string"}, {"description", "User's response"}}},
                     {"email", {{"type", "string"}, {"description", "User's email address"}}}},
                    Json::array({"username", "email"})),
        "User response: ");
  }
  if (name == "test_elicitation_sep1034_defaults") {
    return ask(call, elicitation("Confirm the values", default_values(), Json::array()),
               "Elicitation completed: ");
  }
  if (name == "test_elicitation_sep1330_enums") {
    return ask(call, elicitation("Choose", enum_variants(), Json::array()),
               "Elicitation completed: ");
  }
  if (name == "test_mirrored_argument") {
    return text_result(argument("region"));
  }
  if (inquiries().contains(name) && !is_prompt(name)) {
    return ask_for_input(call);
  }
  if (auto reply = call_task_fixture(call)) {
    return *std::move(reply);
  }
  return RpcError{.code = code::kInvalidParams, .message = "unknown tool"};
}

// One round after the other: the state says how far they have come.
Reply Fixtures::ask_for_input(const Call& call) const {
  const std::string name = call.name();
  const Inquiry& inquiry = inquiries().at(name);
  std::size_t round = 0;
  if (const auto shown = text_member(call.params(), "requestState"); shown && inquiry.has_state) {
    const auto state = states_.open(*shown);
    if (!state || !state->starts_with(name + ":")) {
      return RpcError{.code = code::kInvalidParams, .message = "invalid requestState"};
    }
    round = static_cast<std::size_t>(state->back() - '0');
  }
  const Params responses = call.params().value("inputResponses", Params::object());
  const auto complete = [&](const Json& requests) {
    return responses.is_object() && std::ranges::all_of(requests.items(), [&](const auto& each) {
             return !call.client_can(capability_of(each.value())) ||
                    (responses.contains(each.key()) &&
                     answers(responses[each.key()], each.value()));
           });
  };
  if (!responses.empty() && complete(inquiry.rounds[round])) {
    ++round;
  }
  if (round >= inquiry.rounds.size()) {
    const std::string text = inquiry.result + responses.dump();
    return is_prompt(name) ? prompt_messages({text_content(text)}) : text_result(text);
  }
  Json requests = Json::object();
  for (const auto& [key, request] : inquiry.rounds[round].items()) {
    if (call.client_can(capability_of(request))) {
      requests[key] = request;
    }
  }
  if (requests.empty()) {
    return missing_capability("elicitation");
  }
  Json result{{"resultType", "input_required"}, {"inputRequests", std::move(requests)}};
  if (inquiry.has_state) {
    result["requestState"] = states_.sign(name + ":" + std::to_string(round));
  }
  return result;
}

}  // namespace glovebox::mcp
