// SPDX-License-Identifier: Apache-2.0
// Capacity: what all requests of a server share, and nobody may use up.
#pragma once

#include <optional>

#include "doors/transport/fair_shares.h"
#include "doors/transport/http.h"
#include "doors/transport/outbox.h"
#include "doors/transport/reader_clock.h"

namespace glovebox::http {

struct Capacity {
  explicit Capacity(const ServerOptions& options)
      : short_calls(options.max_handlers, 2),
        long_calls(options.max_long_calls, 4),
        links(options.max_links, 4),
        followers(options.max_followers, 2),
        unsent(options.max_unsent_bytes, 4) {}

  FairShares short_calls;  // Handlers' threads, by tenant;
  FairShares long_calls;   // the same, beside the pool.
  FairShares links;        // Connections that are passed on, without a thread; by tenant or peer.
  FairShares followers;    // Answers that take pieces from elsewhere, without a thread; the same.
  FairShares unsent;       // Bytes of answers that wait for their readers; by tenant or peer.
};

// What a file in an outbox counts as: a descriptor, and a page or two.
inline constexpr std::size_t kFileCost = 256 * 1024;

// The rest of an answer, which the loop sends.
struct Unsent {
  explicit Unsent(const ReaderBounds& bounds) : clock(bounds) {}

  Outbox outbox;
  ReaderClock clock;
  std::optional<FairShares::Share> share;
};

}  // namespace glovebox::http
