// SPDX-License-Identifier: Apache-2.0
#include "questions.h"

#include <algorithm>

namespace glovebox::jupyter {
namespace {

constexpr std::size_t kMaxMatches = 10'000;

// The answer to assume from a kernel that says nothing useful.
Json no_answer(FrameType type, std::int64_t cursor) {
  switch (type) {
    case FrameType::kComplete:
      return {{"matches", Json::array()}, {"start", cursor}, {"end", cursor}};
    case FrameType::kInspect:
      return {{"found", false}, {"data", Json::object()}};
    default:
      return {{"status", "unknown"}, {"indent", ""}};
  }
}

Json complete_answer(const Json& content, std::int64_t cursor) {
  Json matches = Json::array();
  const auto found = content.find("matches");
  if (found != content.end() && found->is_array()) {
    for (const Json& match : *found) {
      if (match.is_string() && matches.size() < kMaxMatches) {
        matches.push_back(match);
      }
    }
  }
  return {{"matches", std::move(matches)},
          {"start", integer_at(content, "cursor_start", cursor)},
          {"end", integer_at(content, "cursor_end", cursor)}};
}

}  // namespace

void Questions::handle_request(const Request& request) {
  const auto json = parse_json_object(request.payload, kMaxJoined);
  if (!json) {
    answer(request.channel, {{"error", json.error().message()}});
    return;
  }
  switch (request.type) {
    case FrameType::kComplete:
    case FrameType::kInspect:
    case FrameType::kIsComplete:
      ask(request.type, request.channel, *json);
      return;
    case FrameType::kFetch:
      answer(request.channel, values_.fetch(*json));
      return;
    default:
      answer(request.channel, {{"error", "a Jupyter kernel does not support this"}});
  }
}

void Questions::ask(FrameType type, std::uint32_t channel, const Json& request) {
  Asked asked{{}, type, channel, integer_at(request, "cursor", 0)};
  Json content{{"code", string_at(request, "code")}};
  const char* name = "is_complete_request";
  if (type != FrameType::kIsComplete) {
    content["cursor_pos"] = asked.cursor;
    name = "complete_request";
  }
  if (type == FrameType::kInspect) {
    content["detail_level"] = integer_at(request, "detail", 0) != 0 ? 1 : 0;
    name = "inspect_request";
  }
  const Message message = maker_.make(name, std::move(content));
  if (!channels_.send(Channel::kShell, message)) {
    answer(channel, no_answer(type, asked.cursor));
    return;
  }
  if (asked_.size() == kMaxAsked) {
    answer(asked_.front().channel, no_answer(asked_.front().type, asked_.front().cursor));
    asked_.pop_front();
  }
  asked.id = message.id();
  asked_.push_back(std::move(asked));
}

void Questions::handle_reply(const Message& reply) {
  const std::string id = reply.parent_id();
  const auto found = std::find_if(asked_.begin(), asked_.end(),
                                  [&id](const Asked& asked) { return asked.id == id; });
  if (found == asked_.end()) {
    return;
  }
  answer(found->channel, translate(*found, reply.content));
  asked_.erase(found);
}

Json Questions::translate(const Asked& asked, const Json& content) {
  const std::string status = string_at(content, "status");
  if (asked.type == FrameType::kIsComplete) {
    const bool known = status == "complete" || status == "incomplete" || status == "invalid";
    return {{"status", known ? status : "unknown"}, {"indent", string_at(content, "indent")}};
  }
  if (status != "ok") {
    return no_answer(asked.type, asked.cursor);
  }
  if (asked.type == FrameType::kComplete) {
    return complete_answer(content, asked.cursor);
  }
  return {{"found", flag_at(content, "found", false)},
          {"data", values_.translate(object_at(content, "data"))}};
}

void Questions::answer(std::uint32_t channel, const Json& payload) {
  outside_.send(FrameType::kReply, channel, payload);
}

}  // namespace glovebox::jupyter
