// SPDX-License-Identifier: Apache-2.0
// Playback: finds in a recording what answers a request. Each answer is given once, in the order in
// which those of the same request were recorded. Pure; one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "egress/recording.h"

namespace glovebox::egress {

// What ConnectionRecord::rule says of what a recording has not, or has more than was asked for.
inline constexpr std::string_view kRecordingRule = "recording";

class Playback {
 public:
  explicit Playback(Recording recording);

  // What became of the next attempt to connect there. Where there were fewer, it is as open as the
  // last one. Null where nothing is recorded of the place.
  const RecordedOpening* open(const Place& place);

  // The answer to a request by its asked_hash(); null where there is none (left).
  const RecordedExchange* answer(const Place& place, bool secure, std::string_view asked);

  // The next connection to the place that was not read, likewise.
  const RecordedExchange* connection(const Place& place);
  // Whether the server said something first in that one.
  [[nodiscard]] bool server_begins(const Place& place) const;

  // What is recorded and was not asked for.
  void each_left(const std::function<void(const RecordedExchange&)>& sink) const;

 private:
  // Indices of what waits for its turn, in order.
  struct Queue {
    std::vector<std::size_t> items{};
    std::size_t next = 0;
  };
  const RecordedExchange* take(const std::string& key);

  const Recording recording_;
  std::map<std::string, Queue, std::less<>> openings_;   // By place.
  std::map<std::string, Queue, std::less<>> exchanges_;  // By kind, place and hash.
};

}  // namespace glovebox::egress
