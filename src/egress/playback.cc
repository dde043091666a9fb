// SPDX-License-Identifier: Apache-2.0
#include "egress/playback.h"

#include <utility>

namespace glovebox::egress {
namespace {

using Kind = RecordedExchange::Kind;

std::string key_of(Kind kind, const Place& place, std::string_view asked) {
  return std::to_string(static_cast<int>(kind)) + " " + place.to_text() + " " + std::string(asked);
}

}  // namespace

Playback::Playback(Recording recording) : recording_(std::move(recording)) {
  for (std::size_t i = 0; i < recording_.openings.size(); ++i) {
    openings_[recording_.openings[i].place.to_text()].items.push_back(i);
  }
  for (std::size_t i = 0; i < recording_.exchanges.size(); ++i) {
    const RecordedExchange& each = recording_.exchanges[i];
    exchanges_[key_of(each.kind, each.place, each.asked)].items.push_back(i);
  }
}

const RecordedOpening* Playback::open(const Place& place) {
  const auto found = openings_.find(place.to_text());
  if (found == openings_.end()) {
    return nullptr;
  }
  Queue& queue = found->second;
  const std::size_t at = queue.next < queue.items.size() ? queue.next++ : queue.items.size() - 1;
  return &recording_.openings[queue.items[at]];
}

const RecordedExchange* Playback::take(const std::string& key) {
  const auto found = exchanges_.find(key);
  if (found == exchanges_.end() || found->second.next == found->second.items.size()) {
    return nullptr;
  }
  return &recording_.exchanges[found->second.items[found->second.next++]];
}

const RecordedExchange* Playback::answer(const Place& place, bool secure, std::string_view asked) {
  return take(key_of(secure ? Kind::kSecure : Kind::kPlain, place, asked));
}

const RecordedExchange* Playback::connection(const Place& place) {
  return take(key_of(Kind::kRaw, place, ""));
}

bool Playback::server_begins(const Place& place) const {
  const auto found = exchanges_.find(key_of(Kind::kRaw, place, ""));
  if (found == exchanges_.end() || found->second.next == found->second.items.size()) {
    return false;
  }
  const auto& turns = recording_.exchanges[found->second.items[found->second.next]].turns;
  return !turns.empty() && !turns.front().of_guest;
}

void Playback::each_left(const std::function<void(const RecordedExchange&)>& sink) const {
  for (const auto& [key, queue] : exchanges_) {
    for (std::size_t i = queue.next; i < queue.items.size(); ++i) {
      sink(recording_.exchanges[queue.items[i]]);
    }
  }
}

}  // namespace glovebox::egress
