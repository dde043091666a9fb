// SPDX-License-Identifier: Apache-2.0
// Exchange: one request and its answer, on a connection that a handler's thread has to itself.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "doors/transport/body_waits.h"
#include "doors/transport/capacity.h"
#include "doors/transport/channel.h"
#include "doors/transport/head.h"
#include "doors/transport/http.h"
#include "doors/transport/outbox.h"
#include "doors/transport/piece_stream.h"
#include "doors/transport/reader_clock.h"
#include "doors/transport/relay.h"

namespace glovebox::http {

class Exchange final : public Request, public Response {
 public:
  struct Line {
    std::unique_ptr<Channel>& channel;  // Taken away when the connection becomes a WebSocket.
    std::string& in;        // What was read beyond the head; what is left is the next request's.
    Unsent& unsent;         // Empty at first. The loop sends what is left there at the end.
    std::string_view peer;  // Who is charged until count_for() names a tenant.
    bool over_unix_socket = false;
    const std::atomic<bool>& last;  // No further request is taken on this connection.
    BodyWaits& body_waits;
    Capacity& capacity;
    std::chrono::milliseconds body_patience{};
    // The handler's thread leaves the pool, for the rest of the request.
    std::function<void()> step_out;
    // Makes a WebSocket of the channel, when it is time to write the 101.
    std::function<Result<std::unique_ptr<WebSocket>>(const Head&, std::string_view protocol)>
        upgrade;
  };

  Exchange(Line line, Head head);

  // What comes next on the connection, once a handler has returned or thrown and all is sent.
  enum class Next { kRequest, kEnd, kWebSocket, kRelay, kPieces };
  Next conclude();
  // With kRelay.
  [[nodiscard]] RelayOrder take_relay() { return *std::exchange(relay_, std::nullopt); }
  // With kPieces.
  [[nodiscard]] PieceOrder take_pieces() { return *std::exchange(pieces_, std::nullopt); }
  // The handler's thread is no longer one of the pool's.
  [[nodiscard]] bool stepped_out() const { return stepped_out_; }

  // Request.
  [[nodiscard]] std::string_view method() const override { return head_.method; }
  [[nodiscard]] std::string_view target() const override { return head_.target; }
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const override {
    return find_header(head_.headers, name);
  }
  [[nodiscard]] const Headers& headers() const override { return head_.headers; }
  [[nodiscard]] bool over_unix_socket() const override { return line_.over_unix_socket; }
  [[nodiscard]] std::string_view peer() const override;
  [[nodiscard]] std::optional<std::uint64_t> content_length() const override;
  Result<std::size_t> read(std::span<char> into) override;
  // May be called from another thread while the handler works. -1 when there are no descriptors.
  [[nodiscard]] int gone_fd() override;
  Result<void> count_for(std::string_view tenant, Pace pace) override;

  // Response.
  Result<void> send(int status, const Headers& headers, std::string_view body) override;
  Result<void> start(int status, const Headers& headers) override;
  Result<void> write(std::string_view piece) override;
  Result<void> write_file(int fd, std::uint64_t offset, std::uint64_t length) override;
  Result<void> finish() override;
  Result<void> follow(int status,
                      const Headers& headers,
                      std::unique_ptr<PieceSource> source) override;
  void abort() override;
  Result<std::unique_ptr<WebSocket>> upgrade(std::string_view protocol) override;
  Result<void> relay(UniqueFd peer, std::string_view first) override;

 private:
  enum class Stage { kUnanswered, kStreaming, kAnswered };
  enum class Framing { kNone, kLength, kChunked, kUntilClose };

  Result<void> begin();
  // The head of the answer; decides whether the connection stays open.
  std::string answer_head(int status, const Headers& headers, std::string_view framing);
  // Waits for the peer until it has taken everything.
  Result<void> write_pieces(std::span<iovec> pieces);
  Result<void> drain();
  // Waits for nothing: what the peer does not take at once is left to the loop.
  Result<void> leave_pieces(std::span<iovec> pieces);
  bool may_leave(std::uint64_t cost);
  [[nodiscard]] std::string_view owner() const { return tenant_.empty() ? line_.peer : tenant_; }
  Result<void> account(std::uint64_t count);
  Result<void> admit_body();
  // Some bytes of the body as they come over the wire; 0 when the peer sends no more.
  Result<std::size_t> receive(std::span<char> into);

  Line line_;
  Head head_;
  BodyDecoder body_;
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::string tenant_;  // As an owner of shares; empty until count_for().
  std::optional<FairShares::Share> place_;
  std::optional<RelayOrder> relay_;
  std::optional<PieceOrder> pieces_;
  bool stepped_out_ = false;
  bool body_wanted_ = false;
  std::uint64_t received_ = 0;  // Of the body.
  bool continue_sent_ = false;
  bool keep_ = true;
  bool broken_ = false;
  bool malformed_ = false;  // The body: an answer may still go out, and nothing after it.
  bool upgraded_ = false;
  Stage stage_ = Stage::kUnanswered;
  Framing framing_ = Framing::kNone;
  std::uint64_t left_ = 0;  // With kLength: how much is still to write.
  std::mutex gone_mutex_;
  UniqueFd gone_;
};

}  // namespace glovebox::http
