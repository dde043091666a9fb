// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/websocket.h"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <boost/asio/compose.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <condition_variable>
#include <cstring>
#include <mutex>

namespace glovebox::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

// A Channel as Asio's AsyncStream.
class AsyncChannel {
 public:
  using executor_type = asio::io_context::executor_type;

  AsyncChannel(asio::io_context& io, std::unique_ptr<Channel> channel, std::string in)
      : io_(io), channel_(std::move(channel)), in_(std::move(in)), ready_(io, channel_->fd()) {}
  AsyncChannel(const AsyncChannel&) = delete;
  AsyncChannel& operator=(const AsyncChannel&) = delete;
  ~AsyncChannel() { (void)ready_.release(); }  // The channel closes it.

  executor_type get_executor() { return io_.get_executor(); }

  template <typename Buffers, typename Handler>
  auto async_read_some(const Buffers& buffers, Handler&& handler) {
    iovec into{};
    for (auto piece = asio::buffer_sequence_begin(buffers);
         piece != asio::buffer_sequence_end(buffers) && into.iov_len == 0; ++piece) {
      const asio::mutable_buffer buffer = *piece;
      into = {.iov_base = buffer.data(), .iov_len = buffer.size()};
    }
    return run([this, into] { return read(into); }, std::forward<Handler>(handler));
  }

  template <typename Buffers, typename Handler>
  auto async_write_some(const Buffers& buffers, Handler&& handler) {
    std::array<iovec, 8> pieces{};
    std::size_t count = 0;
    for (auto piece = asio::buffer_sequence_begin(buffers);
         piece != asio::buffer_sequence_end(buffers) && count < pieces.size(); ++piece) {
      const asio::const_buffer buffer = *piece;
      if (buffer.size() > 0) {
        pieces[count++] = {.iov_base = const_cast<void*>(buffer.data()), .iov_len = buffer.size()};
      }
    }
    return run(
        [this, pieces, count]() -> Channel::Outcome {
          if (count == 0) {
            return {.status = Channel::Status::kDone};
          }
          return channel_->write(std::span(pieces).first(count));
        },
        std::forward<Handler>(handler));
  }

  void end() {
    channel_->end_writing();
    cut();
  }
  void cut() {
    (void)::shutdown(channel_->fd(), SHUT_RDWR);
    boost::system::error_code ignored;
    ready_.cancel(ignored);
  }

 private:
  Channel::Outcome read(iovec into) {
    if (in_.empty()) {
      return channel_->read({static_cast<char*>(into.iov_base), into.iov_len});
    }
    const std::size_t count = std::min(in_.size(), into.iov_len);
    std::memcpy(into.iov_base, in_.data(), count);
    in_.erase(0, count);
    return {.status = Channel::Status::kDone, .bytes = count};
  }

  // Tries, waits for what the outcome names, and tries again.
  template <typename Attempt>
  struct Operation {
    AsyncChannel& channel;
    Attempt attempt;
    bool started = false;
    bool finished = false;
    Channel::Outcome outcome{};

    template <typename Self>
    void operator()(Self& self, beast::error_code error = {}) {
      if (error) {
        self.complete(error, 0);
        return;
      }
      if (!finished) {
        outcome = attempt();
        using Wait = asio::posix::descriptor_base;
        const bool first = !std::exchange(started, true);
        if (outcome.status == Channel::Status::kWantRead) {
          channel.ready_.async_wait(Wait::wait_read, std::move(self));
          return;
        }
        if (outcome.status == Channel::Status::kWantWrite) {
          channel.ready_.async_wait(Wait::wait_write, std::move(self));
          return;
        }
        finished = true;
        if (first) {
          // No operation may complete within the call that begins it.
          asio::post(channel.get_executor(), std::move(self));
          return;
        }
      }
      switch (outcome.status) {
        case Channel::Status::kDone:
          self.complete({}, outcome.bytes);
          return;
        case Channel::Status::kEnd:
          self.complete(asio::error::eof, 0);
          return;
        default:
          self.complete(asio::error::connection_reset, 0);
      }
    }
  };

  template <typename Attempt, typename Handler>
  auto run(Attempt attempt, Handler&& handler) {
    return asio::async_compose<Handler, void(beast::error_code, std::size_t)>(
        Operation<Attempt>{*this, std::move(attempt)}, handler, io_);
  }

  asio::io_context& io_;
  std::unique_ptr<Channel> channel_;
  std::string in_;
  asio::posix::stream_descriptor ready_;
};

// What Beast asks of a stream, found by its argument.
void beast_close_socket(AsyncChannel& channel) { channel.cut(); }

template <typename Handler>
void async_teardown(beast::role_type, AsyncChannel& channel, Handler&& handler) {
  channel.end();
  asio::post(channel.get_executor(),
             beast::bind_handler(std::forward<Handler>(handler), beast::error_code()));
}

// Where a thread waits for what the loop does.
class Outcome {
 public:
  void set(beast::error_code error) {
    const std::scoped_lock lock(mutex_);
    error_ = error;
    changed_.notify_all();
  }
  beast::error_code wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return error_.has_value(); });
    return *std::exchange(error_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<beast::error_code> error_;
};

// Used by the loop's thread only, but for the outcomes and for `in` between two reads.
struct SocketState {
  SocketState(asio::io_context& loop, std::unique_ptr<Channel> channel, std::string rest)
      : io(loop), stream(loop, std::move(channel), std::move(rest)) {}

  asio::io_context& io;
  websocket::stream<AsyncChannel> stream;
  beast::flat_buffer in;
  Outcome accepted;
  Outcome read;
  Outcome written;
  std::shared_ptr<void> held;  // Let go before the descriptor is closed.
};

void set_bounds(SocketState& state) {
  websocket::stream_base::timeout timeout{};
  timeout.handshake_timeout = std::chrono::seconds(15);
  timeout.idle_timeout = std::chrono::seconds(60);
  timeout.keep_alive_pings = true;
  state.stream.set_option(timeout);
  state.stream.read_message_max(kMaxMessage);
  state.stream.auto_fragment(false);  // The payload is whole: one frame, no copy.
}

class BeastWebSocket final : public WebSocket {
 public:
  explicit BeastWebSocket(std::shared_ptr<SocketState> state) : state_(std::move(state)) {}
  BeastWebSocket(const BeastWebSocket&) = delete;
  BeastWebSocket& operator=(const BeastWebSocket&) = delete;

  ~BeastWebSocket() override {
    // A close frame may be under way and must arrive: the loop waits for its answer, we do not.
    if (!closing_) {
      asio::post(state_->io, [state = state_] { state->stream.next_layer().end(); });
    }
  }

  Result<std::optional<Message>> read() override {
    asio::post(state_->io, [state = state_] {
      state->stream.async_read(
          state->in, [state](beast::error_code error, std::size_t) { state->read.set(error); });
    });
    const beast::error_code error = state_->read.wait();
    if (error == websocket::error::closed || closing_) {
      return std::optional<Message>();
    }
    if (error == websocket::error::message_too_big) {
      return Error(ErrorCode::kExhausted, "the message is larger than 16 MiB");
    }
    if (error) {
      return Error(ErrorCode::kUnavailable, "the client is gone: " + error.message());
    }
    Message message;
    message.binary = state_->stream.got_binary();
    message.payload.assign(static_cast<const char*>(state_->in.data().data()), state_->in.size());
    state_->in.consume(state_->in.size());
    if (message.payload.size() > kKeptBuffer) {
      state_->in.shrink_to_fit();
    }
    return std::optional(std::move(message));
  }

  Result<void> write(bool binary, std::string_view payload) override {
    const std::scoped_lock lock(write_mutex_);
    if (closing_) {
      return Error(ErrorCode::kUnavailable, "the WebSocket is closed");
    }
    asio::post(state_->io, [state = state_, binary, payload] {
      state->stream.binary(binary);
      state->stream.async_write(
          asio::buffer(payload.data(), payload.size()),
          [state](beast::error_code error, std::size_t) { state->written.set(error); });
    });
    if (const beast::error_code error = state_->written.wait()) {
      return Error(ErrorCode::kUnavailable, "the client is gone: " + error.message());
    }
    return {};
  }

  void close(std::uint16_t code, std::string_view reason) override {
    const std::scoped_lock lock(write_mutex_);
    if (closing_.exchange(true)) {
      return;
    }
    // A control frame holds 125 bytes, two of them the code.
    websocket::close_reason why(code);
    why.reason.assign(reason.data(), std::min<std::size_t>(reason.size(), 120));
    asio::post(state_->io, [state = state_, why] {
      state->stream.async_close(why, [state](beast::error_code) {});
    });
  }

 private:
  static constexpr std::size_t kKeptBuffer = 64 * 1024;

  std::shared_ptr<SocketState> state_;
  std::mutex write_mutex_;
  std::atomic<bool> closing_{false};
};

}  // namespace

Result<std::unique_ptr<WebSocket>> accept_websocket(asio::io_context& io,
                                                    std::unique_ptr<Channel> channel,
                                                    std::string in,
                                                    const Head& head,
                                                    std::string_view protocol,
                                                    std::shared_ptr<void> held) {
  auto state = std::make_shared<SocketState>(io, std::move(channel), std::move(in));
  state->held = std::move(held);
  beast::http::request<beast::http::empty_body> request;
  request.method_string(head.method);
  request.target(head.target);
  for (const auto& [name, value] : head.headers) {
    request.insert(name, value);
  }
  set_bounds(*state);
  state->stream.set_option(websocket::stream_base::decorator(
      [name = std::string(protocol)](websocket::response_type& response) {
        if (!name.empty()) {
          response.set(beast::http::field::sec_websocket_protocol, name);
        }
      }));
  asio::post(io, [state, request] {
    state->stream.async_accept(request,
                               [state](beast::error_code error) { state->accepted.set(error); });
  });
  if (const beast::error_code error = state->accepted.wait()) {
    return Error(ErrorCode::kInvalid, "the WebSocket handshake failed: " + error.message());
  }
  return std::unique_ptr<WebSocket>(std::make_unique<BeastWebSocket>(std::move(state)));
}

Result<std::unique_ptr<WebSocket>> connect_websocket(asio::io_context& io,
                                                     std::unique_ptr<Channel> channel,
                                                     std::string_view host,
                                                     std::string_view target,
                                                     const Headers& headers) {
  auto state = std::make_shared<SocketState>(io, std::move(channel), std::string());
  set_bounds(*state);
  state->stream.set_option(
      websocket::stream_base::decorator([headers](websocket::request_type& request) {
        for (const auto& [name, value] : headers) {
          request.insert(name, value);
        }
      }));
  auto answer = std::make_shared<websocket::response_type>();
  asio::post(io, [state, answer, to = std::string(host), path = std::string(target)] {
    state->stream.async_handshake(*answer, to, path, [state, answer](beast::error_code error) {
      state->accepted.set(error);
    });
  });
  const beast::error_code error = state->accepted.wait();
  if (!error) {
    return std::unique_ptr<WebSocket>(std::make_unique<BeastWebSocket>(std::move(state)));
  }
  const auto status = answer->result();
  if (status == beast::http::status::not_found) {
    return Error(ErrorCode::kNotFound, "not found");
  }
  if (status == beast::http::status::unauthorized || status == beast::http::status::forbidden) {
    return Error(ErrorCode::kRefused, "the API key is not valid for this");
  }
  return Error(ErrorCode::kUnavailable, "the WebSocket handshake failed: " + error.message());
}

}  // namespace glovebox::http
