// SPDX-License-Identifier: Apache-2.0
#include "egress/flow.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "egress/pipe.h"
#include "egress/session.h"

namespace glovebox::egress {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kBlock = 32UL * 1024;
// A flow with more bytes than this is long. Most are not, and need no pipe.
constexpr std::uint64_t kLong = 256UL * 1024;

// What became of one piece. No bytes if the sender has none.
struct Moved {
  std::size_t bytes = 0;
  bool ended = false;  // The sender has sent everything; else, without bytes, it is gone.
  bool receiver_gone = false;
};

asio::awaitable<Moved> copy(tcp::socket& from,
                            tcp::socket& to,
                            std::span<char> block,
                            const std::function<void(std::span<char>)>& change) {
  error_code error;
  const std::size_t got =
      co_await from.async_read_some(asio::buffer(block.data(), block.size()), with(error));
  Moved moved{.bytes = got, .ended = error == asio::error::eof};
  if (got > 0) {
    if (change) {
      change(block.first(got));
    }
    error_code gone;
    co_await asio::async_write(to, asio::buffer(block.data(), got), with(gone));
    moved.receiver_gone = static_cast<bool>(gone);
  }
  co_return moved;
}

bool would_block() { return errno == EAGAIN || errno == EINTR; }

// A socket that was cut meanwhile has no descriptor, so splice(2) fails.
asio::awaitable<Moved> splice(tcp::socket& from, tcp::socket& to, Pipe& pipe, std::size_t most) {
  error_code ignored;
  ssize_t got = pipe.fill(from.native_handle(), most);
  while (got < 0 && would_block()) {
    co_await from.async_wait(tcp::socket::wait_read, with(ignored));
    got = pipe.fill(from.native_handle(), most);
  }
  if (got <= 0) {
    co_return Moved{.ended = got == 0};
  }
  Moved moved{.bytes = static_cast<std::size_t>(got)};
  while (pipe.held() > 0) {
    if (pipe.drain(to.native_handle()) < 0) {
      if (!would_block()) {
        moved.receiver_gone = true;
        break;
      }
      co_await to.async_wait(tcp::socket::wait_write, with(ignored));
    }
  }
  co_return moved;
}

// Lets all others have a turn: a flow whose sockets are always ready would never wait.
asio::awaitable<void> give_way(tcp::socket& socket) {
  co_await asio::post(socket.get_executor(), asio::use_awaitable);
}

}  // namespace

asio::awaitable<FlowEnd> carry(Session& session, Flow flow) {
  const bool out = flow.direction == Direction::kOut;
  tcp::socket& from = out ? session.guest() : session.server();
  tcp::socket& to = out ? session.server() : session.guest();
  std::vector<char> block(kBlock);
  std::unique_ptr<Pipe> pipe;
  std::uint64_t passed = 0;
  std::uint64_t long_at = kLong;
  while (passed < flow.most) {
    if (!pipe && !flow.change && passed >= long_at) {
      pipe = session.make_pipe();
      long_at = passed + kLong;  // If there is no pipe now, there may be one later.
    }
    const auto most = static_cast<std::size_t>(
        std::min<std::uint64_t>(flow.most - passed, session.room(flow.direction)));
    Moved moved;
    if (pipe) {
      if (!out) {
        pipe->stay_near(to.native_handle());
      }
      moved = co_await splice(from, to, *pipe, std::min(most, pipe->size()));
      co_await give_way(from);
    } else {
      moved = co_await copy(from, to, std::span(block).first(std::min(most, block.size())),
                            flow.change);
    }
    if (moved.bytes == 0) {
      co_return moved.ended ? FlowEnd::kEnded : FlowEnd::kFailed;
    }
    passed += moved.bytes;
    const bool more = co_await session.spend(out ? moved.bytes : 0, out ? 0 : moved.bytes);
    if (moved.receiver_gone || !more) {
      co_return FlowEnd::kStopped;
    }
  }
  co_return FlowEnd::kEnough;
}

}  // namespace glovebox::egress
