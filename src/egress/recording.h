// SPDX-License-Identifier: Apache-2.0
// Recording: what a sandbox asked servers and what they answered, as bytes that a journal keeps and
// `glovebox replay` answers from. Only the proxy writes and reads it.
//
// It is a sequence of frames (base/frame.h) whose channel is the number of an exchange, so that
// exchanges of several connections may be mixed, and so that the recording may end anywhere: an
// exchange without an end is left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "egress/request.h"
#include "spec/connection_record.h"

namespace glovebox::egress {

// An attempt to connect to a place that the rules alone did not deny.
struct RecordedOpening {
  Place place{};
  bool open = false;          // Else the connection's record says why not.
  std::uint32_t refusal = 0;  // The status that the guest was told then.
  ConnectionRecord connection{};
};

// One part of a connection that is not read; parts are in the order in which they were carried.
struct RecordedTurn {
  bool of_guest = false;
  std::uint64_t size = 0;  // Of the guest's bytes,
  std::string sha256{};    // which are not kept.
  std::string bytes{};     // The server's.
};

// A request with its answer; or a connection that is not read.
struct RecordedExchange {
  enum class Kind : std::uint8_t { kPlain, kSecure, kRaw };
  enum class End : std::uint8_t {
    kKept,    // The connection could have carried another one.
    kClosed,  // It ended with the answer.
    kCut,     // It broke off.
  };
  Kind kind = Kind::kPlain;
  Place place{};
  std::string method{};
  std::string target{};  // Its beginning; for people.
  std::string asked{};   // asked_hash() of the request.
  std::vector<RecordedTurn> turns{};
  End end = End::kCut;

  // "GET https://example.com/x", "a connection to example.com:5432".
  [[nodiscard]] std::string to_text() const;
};

struct Recording {
  std::vector<RecordedOpening> openings{};
  std::vector<RecordedExchange> exchanges{};  // Those that have ended, in the order they began in.

  // kInvalid if it is not a recording, or has more than kMostRecorded bytes. Takes any bytes.
  static Result<Recording> parse(std::string_view bytes);
};

// The kinds of frames.
enum class RecordedPart : std::uint8_t {
  kOpening = 1,  // Of no exchange.
  kBegin = 2,
  kAsked = 3,   // A request is whole.
  kSent = 4,    // The guest has sent a turn, on a connection that is not read.
  kAnswer = 5,  // Bytes.
  kEnd = 6,
};

[[nodiscard]] std::string encode(const RecordedOpening& opening);
// What is known of an exchange when it begins.
[[nodiscard]] std::string encode_begin(const RecordedExchange& exchange);
[[nodiscard]] std::string encode_turn(const RecordedTurn& turn);  // The guest's.

}  // namespace glovebox::egress
