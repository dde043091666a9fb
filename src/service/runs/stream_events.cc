// SPDX-License-Identifier: Apache-2.0
#include "service/runs/stream_events.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "spec/json/verdict_json.h"

namespace glovebox {
StreamEvents::StreamEvents(std::string stream, Bytes limit, bool strip_ansi, Emit emit)
    : stream_(std::move(stream)),
      head_(static_cast<std::size_t>(limit.count - limit.count / 2)),
      strip_(strip_ansi),
      emit_(std::move(emit)) {}

void StreamEvents::print(std::string_view bytes, bool last) {
  held_ += strip_ ? stripper_.strip(bytes) : std::string(bytes);
  const std::size_t keep = last ? 0 : unfinished_character(held_);
  const std::string_view whole = std::string_view(held_).substr(0, held_.size() - keep);
  if (!whole.empty()) {
    emit_(output_event(stream_, whole));
    held_.erase(0, whole.size());
  }
}

void StreamEvents::pass(std::string_view bytes) {
  const std::string_view now = bytes.substr(0, std::min(bytes.size(), head_ - passed_));
  passed_ += now.size();
  print(now, false);
}

void StreamEvents::finish(const Captured& captured) {
  print(std::string_view(captured.bytes).substr(std::min(passed_, captured.bytes.size())), true);
}

}  // namespace glovebox
