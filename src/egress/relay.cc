// SPDX-License-Identifier: Apache-2.0
#include "egress/relay.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <utility>
#include <vector>

#include "egress/credentials.h"

namespace glovebox::egress {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kPiece = 32UL * 1024;

}  // namespace

Relay::Relay(std::shared_ptr<Session> session, Dialed way, Place place)
    : session_(std::move(session)), dialed_(std::move(way)), place_(std::move(place)) {}

asio::awaitable<void> Relay::tunnel(std::shared_ptr<Relay> self) {
  Relay& here = *self;
  Session& session = *here.session_;
  if (Tape* const tape = session.surroundings().tape; tape != nullptr) {
    here.taped_ = std::make_unique<TapedExchange>(*tape, here.place_);
  }
  // Runs beside what follows, because some servers speak first.
  asio::co_spawn(session.guest().get_executor(), bring_in(self), asio::detached);
  bool more = co_await session.hear_client(here.place_);
  if (!more) {
    co_return;
  }
  if (!session.heard().empty()) {
    if (here.taped_) {
      here.taped_->sent(session.heard());
    }
    more = co_await here.send_out(std::exchange(session.heard(), {}));
  }
  FlowEnd end = more ? FlowEnd::kEnded : FlowEnd::kStopped;
  // Asio waits forever if it is asked for more after the end, or after an error.
  if (more && !session.guest_ended()) {
    end = co_await carry(session, here.going_out());
  }
  if (end == FlowEnd::kStopped) {
    session.cut();
    co_return;
  }
  error_code ignored;
  session.server().shutdown(tcp::socket::shutdown_send, ignored);
}

asio::awaitable<void> Relay::forward(std::shared_ptr<Relay> self,
                                     Request request,
                                     http::Head asked) {
  Relay& here = *self;
  const Surroundings& around = here.session_->surroundings();
  here.hides_ = around.filler != nullptr && around.filler->has_for(here.place_, /*secure=*/false);
  if (around.tape != nullptr) {
    here.taped_ = std::make_unique<TapedExchange>(*around.tape, around.filler, here.place_,
                                                  /*secure=*/false, asked);
  }
  http::BodyDecoder body(request.head);
  if (here.taped_ && body.done()) {
    here.taped_->asked();
  }
  bool sent = co_await here.send_out(onward_head(request, here.dialed_.upstream));
  if (sent) {
    asio::co_spawn(here.session_->guest().get_executor(), bring_in(self), asio::detached);
    sent = co_await here.send_body(request, body);
  }
  if (!sent) {
    here.session_->cut();
  }
}

// The body ends where the request's head says, and nothing after it is passed on. So the server
// sees no request that we have not read.
asio::awaitable<bool> Relay::send_body(const Request& request, http::BodyDecoder& body) {
  std::string& heard = session_->heard();
  std::vector<char> block(kPiece);
  while (!body.done()) {
    if (heard.empty() && body.plain_bytes() > 0) {
      const Flow rest = going_out(body.plain_bytes());
      const FlowEnd end = co_await carry(*session_, rest);
      if (end != FlowEnd::kEnough) {
        co_return false;
      }
      body.skip(rest.most);
      continue;
    }
    const auto step = body.decode(heard, block);
    if (!step) {
      session_->record().reason = step.error().message();
      co_return false;
    }
    heard.erase(0, step->consumed);
    if (taped_) {
      taped_->sent({block.data(), step->produced});
    }
    // Before the last bytes go out: the answer may arrive before we hear that they have gone.
    if (taped_ && body.done()) {
      taped_->asked();
    }
    bool more = true;
    if (step->produced > 0) {
      more = co_await send_out(frame_piece(request, {block.data(), step->produced}));
    } else if (step->consumed == 0) {
      more = co_await session_->hear();
    }
    if (!more) {
      co_return false;
    }
  }
  bool sent = true;
  if (request.head.chunked) {
    sent = co_await send_out(frame_piece(request, {}));
  }
  co_return sent;
}

asio::awaitable<bool> Relay::send_out(std::string bytes) {
  error_code error;
  co_await asio::async_write(session_->server(), asio::buffer(bytes), with(error));
  const bool more = co_await session_->spend(bytes.size(), 0);
  co_return more && !error;
}

// Everything from the server, as it comes, until it ends. What the server says can hurt only the
// guest, which chose to ask it.
asio::awaitable<void> Relay::bring_in(std::shared_ptr<Relay> self) {
  Relay& here = *self;
  Session& session = *here.session_;
  error_code error;
  if (!here.dialed_.early.empty()) {
    co_await asio::async_write(session.guest(), asio::buffer(here.dialed_.early), with(error));
    if (here.taped_) {
      here.taped_->answered(here.dialed_.early);
    }
  }
  FlowEnd end = FlowEnd::kStopped;
  if (!error) {
    end = co_await carry(session, here.coming_in());
  }
  if (here.taped_) {
    using End = RecordedExchange::End;
    here.taped_->end(end == FlowEnd::kEnded ? End::kClosed : End::kCut);
  }
  if (end == FlowEnd::kEnded) {
    session.guest().shutdown(tcp::socket::shutdown_send, error);
  } else {
    session.cut();
  }
}

// Ends after `most` bytes, which complete a request, or when the guest has sent everything.
Flow Relay::going_out(std::uint64_t most) {
  Flow flow{.direction = Direction::kOut, .most = most};
  if (taped_) {
    flow.change = [this, left = most](std::span<char> piece) mutable {
      taped_->sent({piece.data(), piece.size()});
      left -= piece.size();
      if (left == 0) {
        taped_->asked();
      }
    };
  }
  return flow;
}

Flow Relay::coming_in() {
  Flow flow{.direction = Direction::kIn};
  if (hides_ || taped_) {
    flow.change = [this](std::span<char> piece) {
      if (hides_) {
        session_->surroundings().filler->hide(piece, place_, /*secure=*/false);
      }
      if (taped_) {
        taped_->answered({piece.data(), piece.size()});
      }
    };
  }
  return flow;
}

}  // namespace glovebox::egress
