// SPDX-License-Identifier: Apache-2.0
#include "service/runs/stream_events.h"

#include <algorithm>
#include <utility>

#include "spec/json/verdict_json.h"

namespace glovebox {
namespace {

// Bytes at the end of `text` that begin a character without finishing it.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte >= 0xC0) {
      const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
      return length > back ? back : 0;
    }
    if (byte < 0x80) {
      return 0;
    }
  }
  return 0;
}

}  // namespace

StreamEvents::StreamEvents(std::string stream, Bytes limit, bool strip_ansi, Emit emit)
    : stream_(std::move(stream)),
      head_(static_cast<std::size_t>(limit.count - limit.count / 2)),
      strip_(strip_ansi),
      emit_(std::move(emit)) {}

void StreamEvents::print(std::string_view bytes, bool last) {
  held_ += strip_ ? stripper_.strip(bytes) : std::string(bytes);
  const std::size_t keep = last ? 0 : unfinished(held_);
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
