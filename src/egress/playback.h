// SPDX-License-Identifier: Apache-2.0
// Playback: finds the answer to a request in a recording. Each answer is given once; answers to the
// same request are given in the order in which they were recorded. Pure; one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "egress/recording.h"

namespace glovebox::egress {

// What ConnectionRecord::rule says if the recording lacks what the guest asks for, or has something
// that the guest does not ask for.
inline constexpr std::string_view kRecordingRule = "recording";

class Playback {
 public:
  explicit Playback(Recording recording);

  // The outcome of the next recorded attempt to connect there; after the last one, that one again.
  // Null if nothing is recorded for the place.
  const RecordedOpening* open(const Place& place);

  // The answer to a request by its asked_hash(); null if there is none, or none left.
  const RecordedExchange* answer(const Place& place, bool secure, std::string_view asked);

  // The next connection to the place that was not read; null likewise.
  const RecordedExchange* connection(const Place& place);
  // Whether the server spoke first in the connection that connection() would return.
  [[nodiscard]] bool server_begins(const Place& place) const;

  // The exchanges that are recorded and were not asked for.
  void each_left(const std::function<void(const RecordedExchange&)>& sink) const;

 private:
  // Indices into the recording, in order; those from `next` on are left.
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
