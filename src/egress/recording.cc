// SPDX-License-Identifier: Apache-2.0
#include "egress/recording.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/frame.h"
#include "base/text.h"
#include "base/wire.h"
#include "spec/egress_protocol.h"

namespace glovebox::egress {
namespace {

constexpr std::size_t kMostTarget = 2'048;
constexpr std::size_t kHashDigits = 64;

Error malformed() { return {ErrorCode::kInvalid, "malformed recording of a network"}; }

Result<RecordedOpening> decode_opening(std::string_view payload) {
  WireReader reader(payload);
  RecordedOpening opening{.open = reader.u8() == 1, .refusal = reader.u32()};
  opening.connection = GB_TRY(decode_connection(reader.text()));
  const auto place = parse_place(reader.text(), 0);
  // The status ends up in an answer of ours.
  if (!reader.complete() || !place || opening.refusal < 400 || opening.refusal > 599) {
    return malformed();
  }
  opening.place = *place;
  return opening;
}

Result<RecordedExchange> decode_begin(std::string_view payload) {
  WireReader reader(payload);
  const std::uint8_t kind = reader.u8();
  const auto place = parse_place(reader.text(), 0);
  RecordedExchange exchange;
  exchange.method = reader.text();
  exchange.target = reader.text();
  if (!reader.complete() || !place || kind > 2) {
    return malformed();
  }
  exchange.kind = static_cast<RecordedExchange::Kind>(kind);
  exchange.place = *place;
  return exchange;
}

Result<RecordedTurn> decode_turn(std::string_view payload) {
  WireReader reader(payload);
  RecordedTurn turn{.of_guest = true, .size = reader.u64(), .sha256 = std::string(reader.text())};
  return reader.complete() && turn.sha256.size() == kHashDigits
             ? Result<RecordedTurn>(std::move(turn))
             : malformed();
}

// Puts exchanges together from frames. A number that is used again begins another exchange.
class Assembly {
 public:
  Result<void> take(const Frame& frame) {
    switch (static_cast<RecordedPart>(frame.type)) {
      case RecordedPart::kOpening:
        made_.openings.push_back(GB_TRY(decode_opening(frame.payload)));
        return {};
      case RecordedPart::kBegin:
        open_.insert_or_assign(frame.channel, exchanges_.size());
        exchanges_.push_back({.exchange = GB_TRY(decode_begin(frame.payload))});
        return {};
      case RecordedPart::kAsked:
        if (frame.payload.size() != kHashDigits) {
          return malformed();
        }
        GB_TRY(of(frame.channel))->exchange.asked = frame.payload;
        return {};
      case RecordedPart::kSent:
        GB_TRY(of(frame.channel))->exchange.turns.push_back(GB_TRY(decode_turn(frame.payload)));
        return {};
      case RecordedPart::kAnswer: {
        auto& turns = GB_TRY(of(frame.channel))->exchange.turns;
        if (turns.empty() || turns.back().of_guest) {
          turns.emplace_back();
        }
        turns.back().bytes += frame.payload;
        return {};
      }
      case RecordedPart::kEnd: {
        Begun* const ended = GB_TRY(of(frame.channel));
        if (frame.payload.size() != 1 || static_cast<std::uint8_t>(frame.payload[0]) > 2) {
          return malformed();
        }
        ended->exchange.end = static_cast<RecordedExchange::End>(frame.payload[0]);
        ended->ended = true;
        open_.erase(frame.channel);
        return {};
      }
    }
    return malformed();
  }

  Recording finish() {
    for (Begun& each : exchanges_) {
      const bool whole =
          each.exchange.kind == RecordedExchange::Kind::kRaw || !each.exchange.asked.empty();
      if (each.ended && whole) {
        made_.exchanges.push_back(std::move(each.exchange));
      }
    }
    return std::move(made_);
  }

 private:
  struct Begun {
    RecordedExchange exchange{};
    bool ended = false;
  };

  Result<Begun*> of(std::uint32_t number) {
    const auto found = open_.find(number);
    return found == open_.end() ? Result<Begun*>(malformed()) : &exchanges_[found->second];
  }

  Recording made_;
  std::vector<Begun> exchanges_;
  std::map<std::uint32_t, std::size_t> open_;
};

}  // namespace

std::string RecordedExchange::to_text() const {
  if (kind == Kind::kRaw) {
    return "a connection to " + place.to_text();
  }
  const bool secure = kind == Kind::kSecure;
  constexpr std::uint16_t kHttp = 80;
  constexpr std::uint16_t kHttps = 443;
  return printable(to_utf8(method)) + (secure ? " https://" : " http://") +
         place.to_authority(secure ? kHttps : kHttp) + printable(to_utf8(target));
}

Result<Recording> Recording::parse(std::string_view bytes) {
  if (bytes.size() > kMostRecorded) {
    return malformed();
  }
  FrameParser parser;
  parser.feed(bytes);
  Assembly assembly;
  Frame frame;
  while (GB_TRY(parser.next(frame))) {
    GB_TRY(assembly.take(frame));
  }
  return parser.take_rest().empty() ? Result<Recording>(assembly.finish()) : malformed();
}

std::string encode(const RecordedOpening& opening) {
  WireWriter writer;
  writer.u8(opening.open ? 1 : 0);
  writer.u32(opening.refusal);
  writer.text(encode(opening.connection));
  writer.text(opening.place.to_text());
  return writer.take();
}

std::string encode_begin(const RecordedExchange& exchange) {
  WireWriter writer;
  writer.u8(static_cast<std::uint8_t>(exchange.kind));
  writer.text(exchange.place.to_text());
  writer.text(exchange.method);
  writer.text(std::string_view(exchange.target).substr(0, kMostTarget));
  return writer.take();
}

std::string encode_turn(const RecordedTurn& turn) {
  WireWriter writer;
  writer.u64(turn.size);
  writer.text(turn.sha256);
  return writer.take();
}

}  // namespace glovebox::egress
