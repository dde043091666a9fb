// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/interpreter.h"

#include <optional>
#include <utility>

#include "doors/e2b/answers.h"
#include "doors/e2b/live_answer.h"
#include "doors/e2b/result_json.h"
#include "doors/e2b/users.h"
#include "spec/json/error_json.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxCellBody = 32 << 20;

// E2B's server sets no limit of its own: the client goes away when it has waited enough, and that
// interrupts the code. This one is for clients that never do.
constexpr std::chrono::hours kLongest{24};

Json context_json(const ShownContext& context) {
  return {{"id", context.id}, {"language", context.language}, {"cwd", context.cwd}};
}

struct Wish {
  ExecuteRequest request;
  std::optional<std::string> context;
  std::optional<std::string> language;
};

Result<Wish> parse_wish(http::Request& request) {
  const Json body = GB_TRY(read_object(request, kMaxCellBody));
  Wish wish;
  auto code = GB_TRY(text_member(body, "code"));
  if (!code) {
    return Error(ErrorCode::kInvalid, "'code' is missing");
  }
  wish.request.code = std::move(*code);
  wish.request.limits.wall = kLongest;
  wish.context = GB_TRY(text_member(body, "contextId"));
  wish.language = GB_TRY(text_member(body, "language"));
  for (auto& [name, value] : GB_TRY(text_map_member(body, "envVars"))) {
    wish.request.env.emplace_back(name, value);
  }
  return wish;
}

// As E2B's framework answers for a body of the wrong shape.
void refuse_body(http::Response& response, const Error& error) {
  const int status = error.code() == ErrorCode::kInvalid ? 422 : http_status(error.code());
  answer(response, status, {{"detail", {{{"msg", error.message()}, {"type", "value_error"}}}}});
}

void refuse_as_text(http::Response& response, const Error& error) {
  answer_text(response, error.code() == ErrorCode::kNotFound ? 404 : 500, error.message());
}

// 404 is for contexts alone: an unknown language is a wrong request.
void refuse_making(http::Response& response, const Error& error) {
  const int status = http_status(error.code());
  answer_text(response, status == 404 ? 400 : status, error.message());
}

void answer_done(http::Response& response, const Result<void>& done) {
  if (done) {
    answer(response, 200, Json(nullptr));
  } else {
    refuse_as_text(response, done.error());
  }
}

}  // namespace

void Interpreter::serve(const Target& target,
                        const Visit& visit,
                        http::Request& request,
                        http::Response& response) {
  const auto& path = target.segments;
  const std::string_view method = request.method();
  if (path.size() == 1 && path[0] == "health" && method == "GET") {
    answer(response, 200, "OK");
  } else if (path.size() == 1 && path[0] == "execute" && method == "POST") {
    execute(visit, request, response);
  } else if (path.size() == 1 && path[0] == "contexts" && method == "GET") {
    list(visit, response);
  } else if (path.size() == 1 && path[0] == "contexts" && method == "POST") {
    create(visit, request, response);
  } else if (path.size() == 2 && path[0] == "contexts" && method == "DELETE") {
    answer_done(response, contexts_.remove(visit, path[1]));
  } else if (path.size() == 3 && path[0] == "contexts" && path[2] == "restart" &&
             method == "POST") {
    answer_done(response, contexts_.restart(visit, path[1]));
  } else {
    answer(response, 404, {{"detail", "Not Found"}});
  }
}

void Interpreter::list(const Visit& visit, http::Response& response) {
  const auto contexts = contexts_.list(visit);
  if (!contexts) {
    refuse_making(response, contexts.error());
    return;
  }
  Json json = Json::array();
  for (const ShownContext& each : *contexts) {
    json.push_back(context_json(each));
  }
  answer(response, 200, json);
}

void Interpreter::create(const Visit& visit, http::Request& request, http::Response& response) {
  std::string language;
  std::string cwd;
  const auto parsed = [&]() -> Result<void> {
    const Json body = GB_TRY(read_object(request, kMaxCellBody));
    language = normal_language(GB_TRY(text_member(body, "language")).value_or("python"));
    cwd = GB_TRY(text_member(body, "cwd")).value_or("");
    if (!cwd.empty()) {
      (void)GB_TRY(resolve_path(cwd));
    }
    return {};
  }();
  if (!parsed) {
    refuse_body(response, parsed.error());
    return;
  }
  const auto made = contexts_.create(visit, language, cwd);
  if (made) {
    answer(response, 200, context_json(*made));
  } else {
    refuse_making(response, made.error());
  }
}

void Interpreter::execute(const Visit& visit, http::Request& request, http::Response& response) {
  const auto wish = parse_wish(request);
  if (!wish) {
    refuse_body(response, wish.error());
    return;
  }
  if (wish->context && wish->language) {
    answer_text(response, 400, "Only one of context_id or language can be provided");
    return;
  }
  if (wish->context) {
    const auto context = contexts_.of_id(visit, *wish->context);
    if (!context) {
      refuse_as_text(response, context.error());
      return;
    }
    stream(visit, *context, wish->request, request, response);
    return;
  }
  const auto context =
      contexts_.of_language(visit, normal_language(wish->language.value_or("python")));
  if (!context) {
    refuse_making(response, context.error());
    return;
  }
  stream(visit, *context, wish->request, request, response);
}

void Interpreter::stream(const Visit& visit,
                         ChosenContext context,
                         const ExecuteRequest& wanted,
                         http::Request& request,
                         http::Response& response) {
  bool begun = false;
  std::optional<LiveAnswer> live;  // Nothing before it has begun, or if nobody reads any more.
  const auto begin = [&] {
    if (!begun && response.start(200, {{"Content-Type", "application/json"}})) {
      live.emplace(request, response, options_.keepalive, execution_line({{"type", "keepalive"}}));
    }
    begun = true;
    return live.has_value();
  };
  ExecutionLines lines;
  const auto execute = [&] {
    return service_.execute(visit.caller, visit.info.id, context.id, wanted,
                            [&](std::string_view event) {
                              if (!begin()) {
                                return false;
                              }
                              const std::string text = event.empty() ? "" : lines.take(event);
                              return text.empty() ? live->idle() : live->write(text);
                            });
  };
  auto done = execute();
  // Whether the context exists was not checked first: that would cost a call each time.
  if (!done && done.error().code() == ErrorCode::kNotFound) {
    const bool is_default = !context.language.empty();
    auto instead = contexts_.in_place_of(visit, context);
    if (instead) {
      context = *std::move(instead);
      done = execute();
    } else if (!begun) {
      (is_default ? refuse_making : refuse_as_text)(response, instead.error());
      return;
    }
  }
  // E2B restarts an interpreter that has died; the next execution finds a new one.
  if (!done && done.error().code() == ErrorCode::kConflict &&
      service_.restart_context(visit.caller, visit.info.id, context.id)) {
    done = execute();
  }
  if (!begin()) {
    return;
  }
  // A clean end would make the client take what came for the whole. So the connection is dropped
  // when the sandbox died, and the client asks whether it did.
  const bool whole = lines.status().has_value();
  const bool suspicious = !whole || (*lines.status() != "ok" && *lines.status() != "error");
  const bool dead = suspicious && !service_.find(visit.caller, visit.info.id);
  if (dead || (!whole && !done && done.error().code() == ErrorCode::kUnavailable)) {
    live->abort();
  } else if (!whole) {
    const std::string why = done ? "the execution ended without a verdict" : done.error().message();
    live->finish(execution_line({{"type", "error"},
                                 {"name", "UnexpectedEndOfExecution"},
                                 {"value", why},
                                 {"traceback", why}}));
  } else {
    live->finish();
  }
}

}  // namespace glovebox::e2b
