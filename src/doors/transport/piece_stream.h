// SPDX-License-Identifier: Apache-2.0
// PieceStream: an answer whose pieces come whenever something happens elsewhere; in the loop,
// without a thread.
#pragma once

#include <functional>
#include <memory>

#include "doors/transport/channel.h"
#include "doors/transport/fair_shares.h"
#include "doors/transport/http.h"
#include "doors/transport/reader_clock.h"

namespace boost::asio {
class io_context;
}

namespace glovebox::http {

struct PieceOrder {
  std::unique_ptr<PieceSource> source;
  bool chunked = true;  // Else the end of the connection ends the answer.
  bool keep = false;    // Keep the connection for the next request.
  std::string owner;    // Who is charged for what the reader does not take.
  FairShares::Share share;
};

// Passes pieces on until the source has ended, or the reader has gone or is slower than `bounds`
// allow. Takes no piece until the previous one, which is charged to `unsent`, is out. In the thread
// of `io`. `channel` is used, and its descriptor registered with `io`, until `ended` is called,
// once, with whether the connection may take a further request: only after a whole answer.
void start_pieces(boost::asio::io_context& io,
                  Channel& channel,
                  PieceOrder order,
                  FairShares& unsent,
                  const ReaderBounds& bounds,
                  std::function<void(bool keep)> ended);

}  // namespace glovebox::http
