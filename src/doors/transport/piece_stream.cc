// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/piece_stream.h"

#include <poll.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "doors/transport/status.h"
#include "doors/transport/waiting.h"

namespace glovebox::http {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;
using State = PieceSource::State;

constexpr auto kLook = 1s;
// Pieces passed on before others in the loop have their turn.
constexpr int kAtOnce = 16;
// What an idle one may keep allocated.
constexpr std::size_t kKept = 1024;

class PieceStream : public std::enable_shared_from_this<PieceStream> {
 public:
  PieceStream(asio::io_context& io,
              Channel& client,
              PieceOrder order,
              FairShares& unsent,
              const ReaderBounds& bounds,
              std::function<void(bool)> ended)
      : client_(client),
        order_(std::move(order)),
        unsent_(unsent),
        clock_(bounds),
        ended_(std::move(ended)),
        client_side_(io),
        source_side_(io),
        timer_(io) {
    beat_ = order_.source->beat();
    failed_ = !client_side_.assign(client_.fd()) || !source_side_.assign(order_.source->fd());
  }

  void turn();
  void look();

 private:
  void add(State state, std::string piece);
  bool flush();
  void look_at_client();
  void end(bool whole);

  Channel& client_;
  PieceOrder order_;
  FairShares& unsent_;
  ReaderClock clock_;
  std::function<void(bool)> ended_;
  Waiting client_side_;
  Waiting source_side_;
  asio::steady_timer timer_;
  std::string out_;  // Of the piece that is on its way,
  std::size_t done_ = 0;
  std::optional<FairShares::Share> share_;  // and what it is charged as, once it has to wait.
  Clock::time_point waits_since_{};         // With share_.
  std::optional<PieceSource::Beat> beat_;
  Clock::time_point last_piece_ = Clock::now();
  State state_ = State::kGoesOn;
  bool client_is_ahead_ = false;  // It has already sent something after its request.
  bool failed_ = false;
};

void PieceStream::add(State state, std::string piece) {
  state_ = state;
  if (order_.chunked && !piece.empty()) {
    out_ = chunk_size(piece.size()) + piece + "\r\n";
  } else {
    out_ = std::move(piece);
  }
  if (order_.chunked && state == State::kEnd) {
    out_ += "0\r\n\r\n";
  }
  done_ = 0;
  if (!out_.empty()) {
    last_piece_ = Clock::now();
  }
}

// False if it must wait for the reader, or the reader has failed.
bool PieceStream::flush() {
  while (done_ < out_.size()) {
    const iovec piece{.iov_base = out_.data() + done_, .iov_len = out_.size() - done_};
    const Channel::Outcome outcome = client_.write({&piece, 1});
    if (outcome.status == Channel::Status::kFailed || outcome.status == Channel::Status::kEnd) {
      failed_ = true;
      return false;
    }
    if (outcome.status != Channel::Status::kDone) {
      if (!share_) {
        share_ = unsent_.take(order_.owner, out_.size() - done_);
        waits_since_ = Clock::now();
      }
      failed_ = !share_;
      return false;
    }
    done_ += outcome.bytes;
    clock_.took(outcome.bytes);
    if (share_) {
      const auto now = Clock::now();
      clock_.waited(now - std::exchange(waits_since_, now));
    }
  }
  share_.reset();
  done_ = 0;
  out_.clear();
  if (out_.capacity() > kKept) {
    out_ = {};
  }
  return true;
}

void PieceStream::look_at_client() {
  pollfd client{.fd = client_.fd(), .events = POLLIN | POLLRDHUP, .revents = 0};
  (void)::poll(&client, 1, 0);
  failed_ = failed_ || (client.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  client_is_ahead_ = client_is_ahead_ || client.revents != 0;
}

// Does what can be done, and waits for more.
void PieceStream::turn() {
  if (!ended_) {
    return;
  }
  look_at_client();
  int moves = 0;
  while (!failed_ && moves < kAtOnce && flush()) {
    if (state_ != State::kGoesOn) {
      end(state_ == State::kEnd);
      return;
    }
    std::string piece;
    const State state = order_.source->next(piece);
    if (piece.empty() && state == State::kGoesOn) {
      break;
    }
    add(state, std::move(piece));
    ++moves;
  }
  if (failed_) {
    end(false);
    return;
  }
  if (moves == kAtOnce) {
    asio::post(timer_.get_executor(), [stream = shared_from_this()] { stream->turn(); });
    return;
  }
  // A client that is ahead is looked at once a second.
  client_side_.await(shared_from_this(), !client_is_ahead_, !out_.empty());
  source_side_.await(shared_from_this(), out_.empty(), false);
}

// Once a second.
void PieceStream::look() {
  if (!ended_) {
    return;
  }
  if (share_) {
    failed_ = failed_ || Clock::now() - waits_since_ >= clock_.left();
  } else if (out_.empty() && state_ == State::kGoesOn) {
    std::string piece;
    const State state = order_.source->next(piece);
    if (beat_ && piece.empty() && state == State::kGoesOn &&
        Clock::now() - last_piece_ >= beat_->every) {
      piece = beat_->piece;
    }
    add(state, std::move(piece));
  }
  timer_.expires_after(kLook);
  timer_.async_wait([stream = shared_from_this()](const boost::system::error_code& error) {
    if (!error) {
      stream->look();
    }
  });
  turn();
}

void PieceStream::end(bool whole) {
  if (!whole) {
    break_off(client_, !order_.chunked);
  }
  timer_.cancel();
  client_side_.release();
  source_side_.release();
  order_.source.reset();
  std::exchange(ended_, nullptr)(whole && order_.keep);
}

}  // namespace

void start_pieces(asio::io_context& io,
                  Channel& channel,
                  PieceOrder order,
                  FairShares& unsent,
                  const ReaderBounds& bounds,
                  std::function<void(bool)> ended) {
  std::make_shared<PieceStream>(io, channel, std::move(order), unsent, bounds, std::move(ended))
      ->look();
}

}  // namespace glovebox::http
