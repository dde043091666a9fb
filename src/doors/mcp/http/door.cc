// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/door.h"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "doors/mcp/http/headers.h"
#include "doors/mcp/http/read_message.h"
#include "doors/mcp/http/streamed_answer.h"

namespace glovebox::mcp {
namespace {

// Proxies between us and the client close what is silent for longer.
constexpr std::chrono::seconds kBeatEvery{10};
// Understands events without data (SEP-1699).
constexpr std::string_view kFirstPrimed = "2025-11-25";

std::string_view path_of(const http::Request& request) {
  return request.target().substr(0, request.target().find('?'));
}

// The events of a stream from the point where a client lost it, as pieces of a response.
class ResumedEvents final : public http::PieceSource {
 public:
  ResumedEvents(std::shared_ptr<Session> session,
                std::shared_ptr<KeptStreams::Reader> reader,
                Caller caller,
                const std::function<bool(const Caller&)>& is_valid)
      : session_(std::move(session)),
        reader_(std::move(reader)),
        caller_(std::move(caller)),
        is_valid_(is_valid) {}

  [[nodiscard]] int fd() const override { return reader_->changed.get(); }

  State next(std::string& piece) override {
    if (is_valid_ && !is_valid_(caller_)) {
      return State::kEnd;
    }
    switch (session_->streams.next(*reader_, piece)) {
      case KeptStreams::State::kEnd:
        return State::kEnd;
      case KeptStreams::State::kBroken:
        return State::kBroken;
      case KeptStreams::State::kGoesOn:
        break;
    }
    return State::kGoesOn;
  }

  [[nodiscard]] std::optional<Beat> beat() const override {
    return Beat{.every = kBeatEvery, .piece = ":\n\n"};
  }

 private:
  const std::shared_ptr<Session> session_;
  const std::shared_ptr<KeptStreams::Reader> reader_;
  const Caller caller_;
  const std::function<bool(const Caller&)>& is_valid_;
};

// What a session has subscribed to, as pieces of a response. Its events have no ids: a client that
// opens it again is told all of it again, and the stream that it had before ends.
class SubscribedEvents final : public http::PieceSource {
 public:
  SubscribedEvents(std::shared_ptr<Session> session,
                   Caller caller,
                   const std::function<bool(const Caller&)>& is_valid)
      : session_(std::move(session)),
        caller_(std::move(caller)),
        is_valid_(is_valid),
        number_(++session_->subscribed_streams),
        clock_(::fcntl(session_->conversation.watching().fd(), F_DUPFD_CLOEXEC, 0)) {
    session_->conversation.watching().repeat();
  }

  [[nodiscard]] int fd() const override { return clock_.get(); }

  State next(std::string& piece) override {
    if (number_ != session_->subscribed_streams || session_->conversation.is_over() ||
        (is_valid_ && !is_valid_(caller_))) {
      return State::kEnd;
    }
    session_->conversation.watching().tell([&piece](std::string_view method, const Json& params) {
      piece += message_event(notification_text(method, params)) + "\n";
    });
    return State::kGoesOn;
  }

  [[nodiscard]] std::optional<Beat> beat() const override {
    return Beat{.every = kBeatEvery, .piece = ":\n\n"};
  }

 private:
  const std::shared_ptr<Session> session_;
  const Caller caller_;
  const std::function<bool(const Caller&)>& is_valid_;
  const std::uint64_t number_;
  const UniqueFd clock_;  // Its own: streams are told apart by their descriptors.
};

// The session's conversation, which keeps the session.
std::shared_ptr<Conversation> conversation_of(const std::shared_ptr<Session>& session) {
  return {session, &session->conversation};
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
  } else if (request.method() == "GET" &&
             (request.header("mcp-session-id") || request.header("last-event-id"))) {
    stream(request, response, *caller);
  } else {
    // Without a session, every stream belongs to a request.
    send_error(response, 405, code::kInvalidRequest,
               "use POST; GET is for the stream of a session, with Mcp-Session-Id",
               {{"Allow", "GET, POST, DELETE"}});
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
    if (const auto wrong = check_headers(request, message, server_.features())) {
      (void)response.send(400, {{"Content-Type", "application/json"}},
                          response_text(message.id, *wrong));
      return;
    }
    answer(message, request, response, caller, std::make_shared<Conversation>(false), {}, {});
    return;
  }
  if (is_initialize(message)) {
    const auto [id, session] = sessions_.add(caller);
    answer(message, request, response, caller, conversation_of(session), {{"Mcp-Session-Id", id}},
           {});
    return;
  }
  const auto id = request.header("mcp-session-id");
  const auto session = id ? sessions_.find(caller, *id) : nullptr;
  if (!session) {
    send_error(response, id ? 404 : 400, code::kInvalidRequest,
               id ? "the session is over; send \"initialize\" again"
                  : "send \"initialize\" first, and its Mcp-Session-Id with each request");
    return;
  }
  if (message.kind == Message::Kind::kRequest) {
    // As a pointer into the session: what is kept lives as long as the session does.
    answer(message, request, response, caller, conversation_of(session), {},
           Keeping{.streams = {session, &session->streams},
                   .primes = session->conversation.version() >= kFirstPrimed});
  } else {
    Server::take(message, session->conversation);
    (void)response.send(202, {}, "");
  }
}

void HttpDoor::answer(const Message& message,
                      http::Request& request,
                      http::Response& response,
                      const Caller& caller,
                      const std::shared_ptr<Conversation>& conversation,
                      http::Headers headers,
                      std::optional<Keeping> keeping) {
  auto entry = conversation->enter(message.id);
  if (!entry) {
    (void)response.send(400, {{"Content-Type", "application/json"}},
                        response_text(message.id, RpcError{.code = code::kInvalidRequest,
                                                           .message = entry.error().message()}));
    return;
  }
  StreamedAnswer answer(response, accepts(request, "text/event-stream"), std::move(headers),
                        std::move(keeping));
  const Outlet outlet{.send = [&answer](std::string_view text) { answer.tell(text); },
                      .release = [&answer] { answer.release(); }};
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
  // The client may use the id again once it has the response.
  entry->reset();
  if (text.empty()) {  // Canceled: nobody waits.
    answer.abort();
    return;
  }
  answer.finish(conversation->lasts() ? 200 : status_of(text), text);
}

void HttpDoor::stream(http::Request& request, http::Response& response, const Caller& caller) {
  const auto id = request.header("mcp-session-id");
  const auto session = id ? sessions_.find(caller, *id) : nullptr;
  if (!session) {
    send_error(response, id ? 404 : 400, code::kInvalidRequest, "no such session");
    return;
  }
  if (!accepts(request, "text/event-stream")) {
    send_error(response, 406, code::kInvalidRequest, "accept text/event-stream");
    return;
  }
  std::unique_ptr<http::PieceSource> source;
  if (const auto last = request.header("last-event-id")) {
    auto reader = session->streams.resume(*last);
    if (!reader) {
      const Error& error = reader.error();
      // Not 404, which means that the session is over.
      const int status = error.code() == ErrorCode::kExhausted  ? 410
                         : error.code() == ErrorCode::kNotFound ? 400
                                                                : 503;
      send_error(response, status, code::kInvalidRequest,
                 error.message() + (error.hint().empty() ? "" : "; " + error.hint()));
      return;
    }
    source =
        std::make_unique<ResumedEvents>(session, *std::move(reader), caller, options_.is_valid);
  } else {
    source = std::make_unique<SubscribedEvents>(session, caller, options_.is_valid);
    if (source->fd() < 0) {
      send_error(response, 503, code::kInternal, "too many open files");
      return;
    }
  }
  const auto followed = response.follow(200,
                                        {{"Content-Type", "text/event-stream"},
                                         {"Cache-Control", "no-store"},
                                         {"X-Accel-Buffering", "no"}},
                                        std::move(source));
  if (!followed && followed.error().code() == ErrorCode::kExhausted) {
    send_error(response, 429, code::kInternal, followed.error().message());
  }
}

void HttpDoor::remove(const http::Request& request,
                      http::Response& response,
                      const Caller& caller) {
  const auto id = request.header("mcp-session-id");
  const auto session = id ? sessions_.remove(caller, *id) : nullptr;
  if (!session) {
    send_error(response, id ? 404 : 400, code::kInvalidRequest, "no such session");
    return;
  }
  session->end();
  if (options_.ended) {
    options_.ended(caller, session->conversation);
  }
  (void)response.send(204, {}, "");
}

}  // namespace glovebox::mcp
