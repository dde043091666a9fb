// SPDX-License-Identifier: Apache-2.0
#include "egress/taping.h"

#include <algorithm>

#include "base/frame.h"
#include "spec/credential_rules.h"

namespace glovebox::egress {
namespace {

constexpr std::size_t kPiece = 256UL * 1024;
// This much of an answer is held back until what follows shows whether a secret begins in it. A
// guest could see the delay, but a recording does not show it.
constexpr std::size_t kHeldBack = CredentialRules::kMaxHeaderValue;

RecordedExchange beginning_of(const Place& place, bool secure, const http::Head& head) {
  return {.kind = secure ? RecordedExchange::Kind::kSecure : RecordedExchange::Kind::kPlain,
          .place = place,
          .method = head.method,
          .target = head.target};
}

}  // namespace

void Tape::opened(const RecordedOpening& opening) {
  add(RecordedPart::kOpening, 0, encode(opening));
}

void Tape::add(RecordedPart part, std::uint32_t number, std::string_view payload) {
  if (!keep_) {
    return;
  }
  std::string frame;
  append_frame(frame, static_cast<std::uint8_t>(part), number, payload);
  if (frame.size() > room_) {
    keep_ = nullptr;
    full_();
    return;
  }
  room_ -= frame.size();
  keep_(frame);
}

BytesHash asked_hash(const http::Head& head) {
  BytesHash hash;
  hash.add(head.method).add(" ").add(head.target).add("\n");
  return hash;
}

TapedExchange::TapedExchange(Tape& tape,
                             const CredentialFiller* filler,
                             const Place& place,
                             bool secure,
                             const http::Head& head)
    : tape_(tape),
      number_(tape.next_number()),
      place_(place),
      secure_(secure),
      raw_(false),
      hiding_(filler != nullptr && filler->has_for(place, secure) ? filler : nullptr),
      hash_(std::make_unique<BytesHash>(asked_hash(head))) {
  tape_.add(RecordedPart::kBegin, number_, encode_begin(beginning_of(place, secure, head)));
}

TapedExchange::TapedExchange(Tape& tape, const Place& place)
    : tape_(tape),
      number_(tape.next_number()),
      place_(place),
      raw_(true),
      hash_(std::make_unique<BytesHash>()) {
  tape_.add(RecordedPart::kBegin, number_,
            encode_begin({.kind = RecordedExchange::Kind::kRaw, .place = place}));
}

void TapedExchange::sent(std::string_view bytes) {
  if (hash_ && !ended_) {
    hash_->add(bytes);
    sent_ += bytes.size();
  }
}

void TapedExchange::asked() {
  if (hash_ && !ended_) {
    tape_.add(RecordedPart::kAsked, number_, hash_->hex());
    hash_.reset();
  }
}

void TapedExchange::answered(std::string_view bytes) {
  if (ended_) {
    return;
  }
  if (raw_) {
    tell_sent();
  }
  answer_ += bytes;
  if (hiding_ != nullptr) {
    hiding_->hide(answer_, place_, secure_);
  }
  tell_answered(hiding_ != nullptr ? kHeldBack : 0);
}

void TapedExchange::end(RecordedExchange::End how) {
  if (ended_) {
    return;
  }
  tell_answered(0);
  if (raw_) {
    tell_sent();
  }
  ended_ = true;
  const char byte = static_cast<char>(how);
  tape_.add(RecordedPart::kEnd, number_, {&byte, 1});
}

// What the guest of a connection has said since the server spoke last.
void TapedExchange::tell_sent() {
  if (sent_ > 0) {
    tape_.add(
        RecordedPart::kSent, number_,
        encode_turn({.of_guest = true, .size = std::exchange(sent_, 0), .sha256 = hash_->hex()}));
    hash_ = std::make_unique<BytesHash>();
  }
}

void TapedExchange::tell_answered(std::size_t held) {
  while (answer_.size() > held) {
    const std::size_t size = std::min(answer_.size() - held, kPiece);
    tape_.add(RecordedPart::kAnswer, number_, std::string_view(answer_).substr(0, size));
    answer_.erase(0, size);
  }
}

}  // namespace glovebox::egress
