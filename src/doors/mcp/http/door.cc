// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/door.h"

#include <sys/eventfd.h>

#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "doors/mcp/http/headers.h"
#include "doors/mcp/http/streamed_answer.h"
#include "doors/transport/status.h"

namespace glovebox::mcp {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr std::size_t kMaxKey = 512;

void send_error(http::Response& response,
                int status,
                int number,
                std::string message,
                const http::Headers& more = {}) {
  http::Headers headers{{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  headers.insert(headers.end(), more.begin(), more.end());
  (void)response.send(status, headers,
                      response_text({}, RpcError{.code = number, .message = std::move(message)}));
}

std::string_view path_of(const http::Request& request) {
  return request.target().substr(0, request.target().find('?'));
}

bool is_initialize(const Message& message) {
  return message.kind == Message::Kind::kRequest && message.method == "initialize";
}

}  // namespace

Result<Caller> authenticate_by_key(SandboxService& service, const http::Request& request) {
  std::optional<std::string_view> key = request.header("x-api-key");
  if (const auto authorization = request.header("authorization");
      !key && authorization && authorization->size() >= kBearer.size() &&
      http::equal_names(authorization->substr(0, kBearer.size()), kBearer)) {
    key = authorization->substr(kBearer.size());
  }
  if (!key && request.over_unix_socket()) {
    return service.unix_peer();
  }
  if (!key || key->size() > kMaxKey) {
    return Error(ErrorCode::kRefused, "no API key");
  }
  return service.authenticate(*key);
}

HttpDoor::HttpDoor(Features& features, HttpDoorOptions options)
    : server_(features), options_(std::move(options)) {}

bool HttpDoor::claims(const Arrival& arrival) const {
  return !arrival.port_host && path_of(arrival.request) == options_.path;
}

void HttpDoor::handle(const Arrival& arrival, http::Response& response) {
  http::Request& request = arrival.request;
  http::RequestFacts& facts = request.facts();
  facts.door = "mcp";
  facts.route = "/mcp";
  if (!may_come_from(request, options_.origins)) {
    send_error(response, 403, code::kInvalidRequest, "this origin may not use the server");
    return;
  }
  const auto caller = options_.authenticate(request);
  if (!caller) {
    const bool refused = caller.error().code() == ErrorCode::kRefused;
    send_error(response, refused ? 401 : 503, code::kInvalidRequest,
               refused ? "a valid API key is required" : caller.error().message(),
               refused ? http::Headers{{"WWW-Authenticate", "Bearer"}} : http::Headers{});
    return;
  }
  facts.tenant = caller->tenant;
  facts.key = caller->key;
  if (request.method() == "POST") {
    post(request, response, *caller);
  } else if (request.method() == "DELETE") {
    remove(request, response, *caller);
  } else {
    // We send nothing that belongs to no request, so there is no stream to get.
    send_error(response, 405, code::kInvalidRequest, "use POST", {{"Allow", "POST, DELETE"}});
  }
}

void HttpDoor::post(http::Request& request, http::Response& response, const Caller& caller) {
  if (auto room = request.count_for(caller.tenant, http::Pace::kLong); !room) {
    send_error(response, 429, code::kInternal, room.error().message());
    return;
  }
  auto body = request.read_all(kMaxMessage);
  if (!body) {
    send_error(response, body.error().code() == ErrorCode::kExhausted ? 413 : 400,
               code::kInvalidRequest, body.error().message());
    return;
  }
  auto parsed = parse_message(*body);
  if (const auto* const malformed = std::get_if<Malformed>(&parsed)) {
    (void)response.send(400, {{"Content-Type", "application/json"}},
                        response_text(malformed->id, malformed->error));
    return;
  }
  const Message& message = std::get<Message>(parsed);
  const auto header = request.header("mcp-protocol-version");
  if (Server::stateless_version(message) || header == kStateless) {
    if (message.kind != Message::Kind::kRequest) {
      (void)response.send(202, {}, "");
      return;
    }
    if (const auto wrong = check_headers(request, message)) {
      (void)response.send(400, {{"Content-Type", "application/json"}},
                          response_text(message.id, *wrong));
      return;
    }
    answer(message, request, response, caller, std::make_shared<Conversation>(false), {});
    return;
  }
  if (is_initialize(message)) {
    auto conversation = std::make_shared<Conversation>(true);
    const std::string id = sessions_.add(caller, conversation);
    answer(message, request, response, caller, conversation, {{"Mcp-Session-Id", id}});
    return;
  }
  const auto id = request.header("mcp-session-id");
  const auto conversation = id ? sessions_.find(caller, *id) : nullptr;
  if (!conversation) {
    send_error(response, id ? 404 : 400, code::kInvalidRequest,
               id ? "the session is over; send \"initialize\" again"
                  : "send \"initialize\" first, and its Mcp-Session-Id with each request");
    return;
  }
  if (message.kind == Message::Kind::kRequest) {
    answer(message, request, response, caller, conversation, {});
  } else {
    Server::take(message, *conversation);
    (void)response.send(202, {}, "");
  }
}

void HttpDoor::answer(const Message& message,
                      http::Request& request,
                      http::Response& response,
                      const Caller& caller,
                      const std::shared_ptr<Conversation>& conversation,
                      http::Headers headers) {
  const auto entry = conversation->enter(message.id);
  if (!entry) {
    (void)response.send(400, {{"Content-Type", "application/json"}},
                        response_text(message.id, RpcError{.code = code::kInvalidRequest,
                                                           .message = entry.error().message()}));
    return;
  }
  StreamedAnswer answer(response, accepts(request, "text/event-stream"), std::move(headers));
  const Outlet outlet = [&answer](std::string_view text) { answer.tell(text); };
  const UniqueFd over(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::thread watcher;
  if (Server::is_long(message) && over) {
    watcher = std::thread([&, gone = request.gone_fd()] {
      // In a session, only a message of the client cancels.
      answer.watch(gone, over.get(), conversation->lasts() ? nullptr : &(*entry)->cancellation());
    });
  }
  std::string text;
  try {
    text = server_.answer(message, *conversation, **entry, caller, outlet);
  } catch (const std::exception&) {  // No memory, or no threads.
    text = response_text(message.id,
                         RpcError{.code = code::kInternal, .message = "out of memory or threads"});
  }
  if (watcher.joinable()) {
    (void)::eventfd_write(over.get(), 1);
    watcher.join();
  }
  if (text.empty()) {  // Canceled: nobody waits.
    answer.abort();
    return;
  }
  answer.finish(conversation->lasts() ? 200 : status_of(text), text);
}

void HttpDoor::remove(const http::Request& request,
                      http::Response& response,
                      const Caller& caller) {
  const auto id = request.header("mcp-session-id");
  const auto conversation = id ? sessions_.remove(caller, *id) : nullptr;
  if (!conversation) {
    send_error(response, id ? 404 : 400, code::kInvalidRequest, "no such session");
    return;
  }
  conversation->end();
  if (options_.ended) {
    options_.ended(caller, *conversation);
  }
  (void)response.send(204, {}, "");
}

}  // namespace glovebox::mcp
