// SPDX-License-Identifier: Apache-2.0
#include "context/agent_protocol.h"

#include <algorithm>
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "spec/json/object_text.h"
#include "spec/json/raw_json.h"
#include "spec/json/tool_json.h"

namespace glovebox::agent {
namespace {

using Json = nlohmann::json;

// Deeper than any honest message. Code that writes the values again, here or in the client, uses a
// call for each level.
constexpr std::size_t kMaxDepth = 200;
// A parsed value costs us far more than its bytes. An honest message is long because of a few long
// strings; a million values are a large chart.
constexpr std::size_t kMaxValues = 1'000'000;

// Bounds on what is kept of answers about code.
constexpr std::size_t kMaxMatches = 10'000;
constexpr std::size_t kMaxMatch = 4'096;
constexpr std::size_t kMaxAllMatches = 1UL << 20;
constexpr std::size_t kMaxDescription = 1UL << 20;
constexpr std::size_t kMaxDescriptions = 4;

// Bounds on what a tool returns.
constexpr std::size_t kMaxResultDepth = 100;

Error malformed() { return {ErrorCode::kInvalid, "the agent sent a malformed message"}; }

// The text need not be JSON at all.
bool is_bounded(std::string_view payload, std::size_t max_depth = kMaxDepth) {
  std::size_t values = 0;
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < payload.size(); ++i) {
    const char c = payload[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == ',' || c == '[' || c == '{') {
      depth += c == ',' ? 0 : 1;
      if (++values > kMaxValues || depth > max_depth) {
        return false;
      }
    } else if (depth > 0 && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return true;
}

// An object, or nothing.
Json parse_object(std::string_view payload) {
  if (!is_bounded(payload)) {
    return Json(Json::value_t::discarded);
  }
  Json json = Json::parse(payload, nullptr, false);
  return json.is_object() ? json : Json(Json::value_t::discarded);
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool flag_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

int number_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) {
    return 0;
  }
  const auto value = found->get<std::int64_t>();
  return value >= 0 && value <= 1'000'000'000 ? static_cast<int>(value) : 0;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A member of a valid object as it was written, in one line.
std::string line_at(std::string_view object, const char* key) {
  const std::string_view text = raw_member(object, key).value_or(std::string_view());
  return text.find_first_of("\r\n") == text.npos ? std::string(text) : compact_json(text);
}

MimeBundle to_bundle(std::string_view object) {
  MimeBundle bundle;
  for (const auto& [type, value] : raw_members(object)) {
    // A name without escapes stands for itself.
    bundle.emplace(type.find('\\') == type.npos
                       ? std::string(type)
                       : Json::parse('"' + std::string(type) + '"').get<std::string>(),
                   value);
  }
  return bundle;
}

std::string traceback_at(const Json& json) {
  std::string traceback;
  const auto found = json.find("traceback");
  if (found != json.end() && found->is_array()) {
    for (const Json& line : *found) {
      if (line.is_string()) {
        traceback += traceback.empty() ? "" : "\n";
        traceback += line.get_ref<const std::string&>();
      }
    }
  }
  return traceback;
}

Error senseless() {
  return {ErrorCode::kConflict, "the interpreter answered with something malformed",
          "restart the context"};
}

// The answer to a question about code. What an agent cannot do is the guest's doing in most cases.
Result<Json> parse_reply(std::string_view payload) {
  Json json = parse_object(payload);
  if (json.is_discarded()) {
    return senseless();
  }
  if (const std::string error = text_at(json, "error"); !error.empty()) {
    return Error(ErrorCode::kConflict,
                 "the interpreter could not do it: " + printable(error.substr(0, 500)),
                 "try another position, or restart the context");
  }
  return json;
}

}  // namespace

std::string encode(const ExecuteRequest& request) {
  ObjectText text;
  text.add("code", request.code);
  if (request.silent) {
    text.add("silent", true);
  }
  if (!request.store_history) {
    text.add("store_history", false);
  }
  if (request.env != nullptr && !request.env->empty()) {
    Json env;  // A name may come again; the last one counts.
    for (const auto& [name, value] : *request.env) {
      env[name] = to_utf8(value);
    }
    text.add_text("env", dump(env));
  }
  if (!request.cwd.empty()) {
    text.add("cwd", request.cwd);
  }
  if (request.tools != nullptr && !request.tools->empty()) {
    text.add_text("tools", to_json(*request.tools));
  }
  return text.take();
}

Result<std::string> encode(std::uint32_t call, const ToolAnswer& answer) {
  std::string text = "{\"call\":" + std::to_string(call);
  if (answer.error) {
    return text + ",\"error\":" + dump({{"message", to_utf8(*answer.error)}}) + "}";
  }
  if (!is_bounded(answer.result, kMaxResultDepth) || !Json::accept(answer.result)) {
    return Error(ErrorCode::kInvalid, "the result of a tool must be JSON",
                 "return any JSON value, nested at most 100 levels deep");
  }
  return text + ",\"result\":" + answer.result + "}";
}

std::string encode_input(const std::string* text) {
  return dump(text != nullptr ? Json{{"text", to_utf8(*text)}} : Json{{"eof", true}});
}

std::string encode(std::string_view code, std::size_t cursor, int detail) {
  Json json{{"code", to_utf8(code)}, {"cursor", cursor}};
  if (detail != 0) {
    json["detail"] = detail;
  }
  return dump(json);
}

Result<Completion> decode_completion(std::string_view payload, std::size_t length) {
  const Json json = GB_TRY(parse_reply(payload));
  const auto start = json.find("start");
  const auto end = json.find("end");
  const auto found = json.find("matches");
  if (start == json.end() || !start->is_number_unsigned() || end == json.end() ||
      !end->is_number_unsigned() || end->get<std::size_t>() > length ||
      start->get<std::size_t>() > end->get<std::size_t>() || found == json.end() ||
      !found->is_array()) {
    return senseless();
  }
  Completion completion{.matches = {},
                        .start = start->get<std::size_t>(),
                        .end = end->get<std::size_t>()};
  std::size_t size = 0;
  for (const Json& match : *found) {
    if (!match.is_string() || match.get_ref<const std::string&>().size() > kMaxMatch) {
      continue;
    }
    size += match.get_ref<const std::string&>().size();
    if (size > kMaxAllMatches || completion.matches.size() == kMaxMatches) {
      break;
    }
    completion.matches.push_back(match.get<std::string>());
  }
  return completion;
}

Result<Inspection> decode_inspection(std::string_view payload) {
  const Json json = GB_TRY(parse_reply(payload));
  Inspection inspection{.found = flag_at(json, "found")};
  const auto data = json.find("data");
  if (!inspection.found || data == json.end() || !data->is_object()) {
    return inspection;
  }
  for (const auto& [type, value] : data->items()) {
    const bool fits = type.size() <= 256 && value.is_string() &&
                      value.get_ref<const std::string&>().size() <= kMaxDescription;
    if (fits && inspection.data.size() < kMaxDescriptions) {
      inspection.data.emplace(type, value.get<std::string>());
    }
  }
  return inspection;
}

std::string encode_id(std::uint32_t id) { return dump(Json{{"id", id}}); }

Result<std::vector<std::string>> decode_checkpoint(std::string_view payload) {
  const Json json = parse_object(payload);
  if (json.is_discarded()) {
    return malformed();
  }
  if (const std::string error = text_at(json, "error"); !error.empty()) {
    return Error(ErrorCode::kUnavailable, "no checkpoint: " + printable(error.substr(0, 500)));
  }
  std::vector<std::string> not_carried;
  for (const char* const kind : {"threads", "files"}) {
    const auto found = json.find(kind);
    if (found != json.end() && found->is_array()) {
      for (const Json& name : *found) {
        if (name.is_string() && not_carried.size() < 100) {
          not_carried.push_back((kind[0] == 't' ? "thread " : "open file ") +
                                printable(name.get<std::string>().substr(0, 200)));
        }
      }
    }
  }
  return not_carried;
}

Result<std::vector<Variable>> decode_variables(std::string_view payload) {
  const Json json = GB_TRY(parse_reply(payload));
  const auto found = json.find("variables");
  if (found == json.end() || !found->is_array()) {
    return senseless();
  }
  // More than an honest agent sends of each.
  constexpr std::size_t kMaxName = 256;
  constexpr std::size_t kMaxValue = 1'024;
  const auto text = [](const Json& row, const char* key, std::size_t most) {
    return to_utf8(std::string_view(text_at(row, key)).substr(0, most));
  };
  std::vector<Variable> variables;
  for (const Json& row : *found) {
    if (variables.size() == kMaxVariables) {
      break;
    }
    if (row.is_object()) {
      variables.push_back({.name = text(row, "name", kMaxName),
                           .type = text(row, "type", kMaxName),
                           .size = text(row, "size", kMaxName),
                           .value = text(row, "value", kMaxValue)});
    }
  }
  std::ranges::sort(variables, {}, &Variable::name);
  const auto same = [](const Variable& one, const Variable& next) { return one.name == next.name; };
  variables.erase(std::unique(variables.begin(), variables.end(), same), variables.end());
  return variables;
}

Result<Ready> decode_ready(std::string_view payload) {
  const Json json = parse_object(payload);
  if (json.is_discarded()) {
    return malformed();
  }
  Ready ready{.language = text_at(json, "language"),
              .version = text_at(json, "version"),
              .features = {}};
  const auto found = json.find("features");
  if (found != json.end() && found->is_array()) {
    for (const Json& feature : *found) {
      if (feature.is_string() && ready.features.size() < 64) {
        ready.features.push_back(feature.get<std::string>());
      }
    }
  }
  return ready;
}

Result<Done> decode_done(std::string_view payload) {
  const Json json = parse_object(payload);
  if (json.is_discarded()) {
    return malformed();
  }
  const std::string status = text_at(json, "status");
  Done done{.execution_count = number_at(json, "execution_count")};
  if (status == "aborted") {
    done.status = Done::Status::kAborted;
  } else if (status != "ok") {
    done.status = Done::Status::kError;
  }
  return done;
}

Result<ToolCall> decode_tool_call(std::string_view payload) {
  const Json json = parse_object(payload);
  const auto number = json.is_discarded() ? json.end() : json.find("call");
  if (json.is_discarded() || number == json.end() || !number->is_number_unsigned() ||
      number->get<std::uint64_t>() > UINT32_MAX) {
    return malformed();
  }
  ToolCall call{.number = number->get<std::uint32_t>(),
                .name = text_at(json, "name"),
                .arguments = {},
                .refusal = {}};
  const auto arguments = json.find("arguments");
  if (arguments == json.end() || !arguments->is_object()) {
    call.refusal = "the arguments of a tool must be an object";
    return call;
  }
  const auto raw = raw_member(payload, "arguments");
  std::string text = raw ? compact_json(*raw) : dump(*arguments);
  if (text.size() > ToolCall::kMaxArguments) {
    call.refusal = "the arguments of a tool may have 256 KiB";
  } else if (!is_bounded(text, ToolCall::kMaxDepth)) {
    call.refusal = "the arguments of a tool may nest 32 levels deep";
  } else {
    call.arguments = std::move(text);
  }
  return call;
}

Result<Event> decode_event(Reply type, std::string_view payload) {
  Event event;
  if (type == Reply::kStdout || type == Reply::kStderr) {
    event.kind = type == Reply::kStdout ? Event::Kind::kStdout : Event::Kind::kStderr;
    event.text = payload;
    return event;
  }
  const Json json = parse_object(payload);
  if (json.is_discarded()) {
    return malformed();
  }
  switch (type) {
    case Reply::kStarted:
      event.kind = Event::Kind::kStarted;
      break;
    case Reply::kDisplay:
    case Reply::kResult:
      event.kind = type == Reply::kResult ? Event::Kind::kResult : Event::Kind::kDisplay;
      event.data = to_bundle(line_at(payload, "data"));
      if (std::string metadata = line_at(payload, "metadata"); metadata.starts_with('{')) {
        event.metadata = std::move(metadata);
      }
      event.display_id = text_at(json, "display_id");
      event.update = flag_at(json, "update");
      break;
    case Reply::kError:
      event.kind = Event::Kind::kError;
      event.error = {.name = text_at(json, "name"),
                     .value = text_at(json, "value"),
                     .traceback = traceback_at(json)};
      break;
    case Reply::kInputRequest:
      event.kind = Event::Kind::kInputRequest;
      event.text = text_at(json, "prompt");
      event.secret = flag_at(json, "password");
      break;
    case Reply::kClear:
      event.kind = Event::Kind::kClear;
      event.update = flag_at(json, "wait");
      break;
    case Reply::kNote:
      event.kind = Event::Kind::kNote;
      event.text = text_at(json, "text");
      break;
    default:
      return malformed();
  }
  event.execution_count = number_at(json, "execution_count");
  return event;
}

}  // namespace glovebox::agent
