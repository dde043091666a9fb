// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/process_stream.h"

#include <chrono>
#include <csignal>
#include <string>
#include <utility>

#include "doors/e2b/connect_rpc.h"
#include "doors/e2b/process_json.h"

namespace glovebox::e2b {
namespace {

class ProcessMessages final : public http::PieceSource {
 public:
  ProcessMessages(SandboxService& service,
                  const Visit& visit,
                  std::chrono::milliseconds beat_every,
                  bool until_deadline,
                  std::unique_ptr<ProcessFeed> feed)
      : service_(service),
        caller_(visit.caller),
        sandbox_(visit.info.id),
        beat_every_(beat_every),
        until_deadline_(until_deadline),
        feed_(std::move(feed)) {}

  [[nodiscard]] int fd() const override { return feed_->fd(); }

  State next(std::string& piece) override {
    const auto event = feed_->next();
    if (!event) {
      return fail(event.error(), piece);
    }
    if (event->kind == ProcessEvent::Kind::kIdle) {
      return State::kGoesOn;
    }
    const bool ended = event->kind == ProcessEvent::Kind::kEnded;
    // A process that was killed may have died with its sandbox. Then the caller has to ask.
    if (ended && event->signal == SIGKILL && !has_sandbox()) {
      return State::kBroken;
    }
    // The caller's clock may be a moment behind, and its SDK recognizes a timeout by the code
    // alone.
    if (ended && until_deadline_ && event->reason == Status::kTimeout) {
      piece = end_envelope(RpcError{.code = "deadline_exceeded",
                                    .message = "the time limit of the call has passed"});
      return State::kEnd;
    }
    for (const Json& message : event_json(*event)) {
      piece += envelope(to_line(message));
    }
    piece += ended ? end_envelope() : "";
    return ended ? State::kEnd : State::kGoesOn;
  }

  [[nodiscard]] std::optional<Beat> beat() const override {
    return Beat{.every = beat_every_,
                .piece = envelope(to_line({{"event", {{"keepalive", Json::object()}}}}))};
  }

 private:
  bool has_sandbox() const { return service_.find(caller_, sandbox_).has_value(); }
  State fail(const Error& error, std::string& piece) const {
    if (!has_sandbox()) {
      return State::kBroken;
    }
    piece = end_envelope(rpc_error(error));
    return State::kEnd;
  }

  SandboxService& service_;
  const Caller caller_;
  const std::string sandbox_;
  const std::chrono::milliseconds beat_every_;
  const bool until_deadline_;
  const std::unique_ptr<ProcessFeed> feed_;
};

}  // namespace

void answer_with_process(SandboxService& service,
                         const Visit& visit,
                         http::Request& request,
                         http::Response& response,
                         bool until_deadline,
                         Result<std::unique_ptr<ProcessFeed>> feed) {
  const http::Headers headers = {{"Content-Type", std::string(kStreamType)}};
  if (!feed) {
    if (service.find(visit.caller, visit.info.id)) {
      refuse_streaming(response, rpc_error(feed.error()));
    } else if (response.start(200, headers)) {
      response.abort();
    }
    return;
  }
  const auto followed =
      response.follow(200, headers,
                      std::make_unique<ProcessMessages>(service, visit, ping_interval(request),
                                                        until_deadline, *std::move(feed)));
  if (!followed) {
    refuse_streaming(response, rpc_error(followed.error()));
  }
}

}  // namespace glovebox::e2b
