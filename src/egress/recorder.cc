// SPDX-License-Identifier: Apache-2.0
#include "egress/recorder.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "base/frame.h"

namespace glovebox::egress {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMostUnsent = 256UL * 1024;

}  // namespace

Recorder::Recorder(asio::io_context& loop, int fd, std::function<void()> closed)
    : socket_(loop, asio::local::stream_protocol(), fd), closed_(std::move(closed)) {
  listen();
}

void Recorder::ready() { add(Message::kReady, {}); }

void Recorder::tell(const ConnectionRecord& connection) {
  add(Message::kConnection, encode(connection));
}

void Recorder::keep(std::string_view recorded) { add(Message::kRecording, recorded); }

void Recorder::cut() { add(Message::kCut, {}); }

bool Recorder::full() const { return unsent_.size() + sending_.size() > kMostUnsent; }

void Recorder::add(Message message, std::string_view payload) {
  if (broken_) {
    return;
  }
  append_frame(unsent_, static_cast<std::uint8_t>(message), 0, payload);
  if (sending_.empty()) {
    send();
  }
}

void Recorder::send() {
  sending_.swap(unsent_);
  asio::async_write(socket_, asio::buffer(sending_),
                    [this](const boost::system::error_code& error, std::size_t /*sent*/) {
                      sending_.clear();
                      if (error) {
                        broken_ = true;
                        unsent_.clear();
                      } else if (!unsent_.empty()) {
                        send();
                      }
                    });
}

void Recorder::listen() {
  socket_.async_read_some(asio::buffer(&ignored_, 1), [this](const boost::system::error_code& error,
                                                             std::size_t /*got*/) {
    if (error) {
      std::exchange(closed_, {})();
    } else {
      listen();  // Glovebox sends nothing after the order; anything that comes is ignored.
    }
  });
}

}  // namespace glovebox::egress
