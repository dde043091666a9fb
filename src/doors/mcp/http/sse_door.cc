// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/sse_door.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "doors/mcp/http/read_message.h"

namespace glovebox::mcp {
namespace {

constexpr std::string_view kSession = "?session_id=";
// Proxies between us and the client close what is silent for longer.
constexpr std::chrono::seconds kKeepAliveEvery{15};
constexpr std::size_t kMostGroup = 256;

// The events of a session, as pieces of the response; the session ends with them.
class SessionEvents final : public http::PieceSource {
 public:
  SessionEvents(SseSessions& sessions,
                std::shared_ptr<SseSession> session,
                const std::function<bool(const Caller&)>& is_valid)
      : sessions_(sessions), session_(std::move(session)), is_valid_(is_valid) {}
  SessionEvents(const SessionEvents&) = delete;
  SessionEvents& operator=(const SessionEvents&) = delete;
  ~SessionEvents() override { sessions_.close(std::move(session_)); }

  [[nodiscard]] int fd() const override { return session_->fd(); }

  State next(std::string& piece) override {
    if (session_->broken()) {
      return State::kBroken;
    }
    if (!is_valid_(session_->caller())) {
      return State::kEnd;
    }
    if (auto event = session_->next()) {
      piece = *std::move(event);
    }
    return State::kGoesOn;
  }

  [[nodiscard]] std::optional<Beat> beat() const override {
    return Beat{.every = kKeepAliveEvery, .piece = ":\n\n"};
  }

 private:
  SseSessions& sessions_;
  std::shared_ptr<SseSession> session_;
  const std::function<bool(const Caller&)>& is_valid_;
};

}  // namespace

SseDoor::SseDoor(const std::vector<Path>& paths, SseDoorOptions options)
    : options_(std::move(options)), sessions_(options_.over) {
  for (const Path& each : paths) {
    endpoints_.push_back({.path = each.path, .server = std::make_unique<Server>(each.features)});
  }
}

const SseDoor::Endpoint* SseDoor::endpoint_of(const http::Request& request) const {
  const std::string_view path = request.target().substr(0, request.target().find('?'));
  const auto found = std::ranges::find(endpoints_, path, &Endpoint::path);
  return found == endpoints_.end() ? nullptr : &*found;
}

bool SseDoor::claims(const Arrival& arrival) const {
  return !arrival.port_host && endpoint_of(arrival.request) != nullptr;
}

void SseDoor::handle(const Arrival& arrival, http::Response& response) {
  http::Request& request = arrival.request;
  const Endpoint& endpoint = *endpoint_of(request);
  request.facts().door = "mcp";
  request.facts().route = endpoint.path;
  const auto caller = options_.admission.admit(request, response);
  if (!caller) {
    return;
  }
  if (request.method() == "GET") {
    open(endpoint, request, response, *caller);
  } else if (request.method() == "POST") {
    post(endpoint, request, response, *caller);
  } else {
    send_error(response, 405, code::kInvalidRequest, "use GET, then POST",
               {{"Allow", "GET, POST"}});
  }
}

void SseDoor::open(const Endpoint& endpoint,
                   const http::Request& request,
                   http::Response& response,
                   const Caller& caller) {
  const auto group = request.header("x-session-id").value_or("");
  if (group.size() > kMostGroup) {
    send_error(response, 400, code::kInvalidRequest, "x-session-id is longer than 256 bytes");
    return;
  }
  const auto session = sessions_.open(caller, group);
  if (!session) {
    send_error(response, 429, code::kInternal, session.error().message());
    return;
  }
  (*session)->send("endpoint", endpoint.path + std::string(kSession) + (*session)->id());
  const auto followed =
      response.follow(200,
                      {{"Content-Type", "text/event-stream"},
                       {"Cache-Control", "no-store"},
                       {"X-Accel-Buffering", "no"}},
                      std::make_unique<SessionEvents>(sessions_, *session, options_.is_valid));
  if (!followed && followed.error().code() == ErrorCode::kExhausted) {
    send_error(response, 429, code::kInternal, followed.error().message());
  }
}

void SseDoor::post(const Endpoint& endpoint,
                   http::Request& request,
                   http::Response& response,
                   const Caller& caller) {
  const std::string_view query = request.target().substr(endpoint.path.size());
  const auto session =
      query.starts_with(kSession) ? sessions_.find(caller, query.substr(kSession.size())) : nullptr;
  if (!session) {
    send_error(response, 404, code::kInvalidRequest,
               "no such session; GET this path and POST to the endpoint that the stream names");
    return;
  }
  const auto message = read_message(request, response, caller);
  if (!message) {
    return;
  }
  if (Server::stateless_version(*message)) {
    send_error(response, 400, code::kInvalidRequest,
               "this transport is for revisions with \"initialize\"; use /mcp");
  } else if (message->kind == Message::Kind::kRequest) {
    answer(endpoint, *message, response, *session);
    if (session->ended()) {
      sessions_.settle(*session);
    }
  } else {
    Server::take(*message, session->conversation());
    (void)response.send(202, {}, "");
  }
}

void SseDoor::answer(const Endpoint& endpoint,
                     const Message& message,
                     http::Response& response,
                     SseSession& session) {
  // The connection is busy until the call ends, so the client must not use it for a cancellation.
  (void)response.send(202, {{"Connection", "close"}}, "");
  auto entry = session.conversation().enter(message.id);
  if (!entry) {
    session.send("message",
                 response_text(message.id, RpcError{.code = code::kInvalidRequest,
                                                    .message = entry.error().message()}));
    return;
  }
  const Outlet outlet{.send = [&session](std::string_view text) { session.send("message", text); }};
  std::string text;
  try {
    text =
        endpoint.server->answer(message, session.conversation(), **entry, session.caller(), outlet);
  } catch (const std::exception&) {  // No memory, or no threads.
    text = response_text(message.id,
                         RpcError{.code = code::kInternal, .message = "out of memory or threads"});
  }
  // The client may use the id again once it has the response.
  entry->reset();
  if (!text.empty()) {
    session.send("message", text);
  }
}

}  // namespace glovebox::mcp
