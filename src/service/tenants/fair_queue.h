// SPDX-License-Identifier: Apache-2.0
// FairQueue: who runs next, when more want to run than can.
//
// Tenants with something waiting take turns, one execution each, however many each has waiting; in
// a tenant's own line the first is served first. Bounded: a line, and the number of all who wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox {

// A plain value without a clock or a lock: Admission adds both. One thread at a time.
class FairQueue {
 public:
  using Ticket = std::uint64_t;
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  struct Bounds {
    std::size_t slots = 1;              // That run at once.
    std::size_t waiting_of_tenant = 1;  // Beside those that run.
    std::size_t waiting = 1;            // Of all tenants together.
    // A tenant gets at most one in `parts` of the slots that the others leave, so that some are
    // left for the next one that comes.
    std::size_t parts = 1;
  };

  explicit FairQueue(Bounds bounds) : bounds_(bounds) {}

  // Puts an execution in line. `most_of_tenant` is how many of this tenant may run at once, at
  // least one. It may be able to run right away: next() tells. kExhausted if the line is full.
  Result<Ticket> arrive(std::string_view tenant, std::size_t most_of_tenant);

  // Those that may run now and were not returned before.
  std::vector<Ticket> next();

  // The execution has run, or no longer wants to. Each ticket leaves once.
  void leave(Ticket ticket);

  [[nodiscard]] std::size_t running() const { return running_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

 private:
  struct Line {
    std::deque<Ticket> waiting;
    std::size_t running = 0;
    std::size_t most = 1;
  };
  struct Place {
    std::string tenant;
    bool runs = false;
  };
  using Lines = std::map<std::string, Line, std::less<>>;

  Lines::iterator next_line();
  [[nodiscard]] bool may_run_more(std::size_t running_of_tenant, std::size_t most) const;

  Bounds bounds_;
  Lines lines_;  // Without those that are empty.
  std::map<Ticket, Place> places_;
  std::string last_;  // The tenant that was served last.
  Ticket last_ticket_ = 0;
  std::size_t running_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace glovebox
