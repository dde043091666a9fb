// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/door.h"

#include <sys/eventfd.h>

#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "doors/mcp/http/headers.h"
#include "doors/mcp/http/read_message.h"
#include "doors/mcp/http/streamed_answer.h"

namespace glovebox::mcp {
namespace {

std::string_view path_of(const http::Request& request) {
  return request.target().substr(0, request.target().find('?'));
}

bool is_initialize(const Message& message) {
  return message.kind == Message::Kind::kRequest && message.method == "initialize";
}

}  // namespace

HttpDoor::HttpDoor(Features& features, HttpDoorOptions options)
    : server_(features), options_(std::move(options)) {}

bool HttpDoor::claims(const Arrival& arrival) const {
  return !arrival.port_host && path_of(arrival.request) == options_.path;
}

void HttpDoor::handle(const Arrival& arrival, http::Response& response) {
  http::Request& request = arrival.request;
  request.facts().door = "mcp";
  request.facts().route = "/mcp";
  const auto caller = options_.admission.admit(request, response);
  if (!caller) {
    return;
  }
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
  const auto read = read_message(request, response, caller);
  if (!read) {
    return;
  }
  const Message& message = *read;
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
