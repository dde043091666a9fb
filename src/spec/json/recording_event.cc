// SPDX-License-Identifier: Apache-2.0
#include "spec/json/recording_event.h"

#include <algorithm>

#include "base/base64.h"
#include "base/json/json.h"
#include "spec/json/object_text.h"

namespace glovebox {
namespace {

constexpr std::string_view kStart = R"({"type":"network_recording",)";
constexpr std::size_t kPiece = 256UL << 10;

std::string event_of(std::string_view bytes, bool cut) {
  ObjectText text;
  text.add("type", "network_recording").add("data", to_base64(bytes)).add("cut", cut);
  return text.take();
}

}  // namespace

std::vector<std::string> recording_events(const NetworkRecording& recording) {
  std::vector<std::string> events;
  std::string_view left = recording.bytes;
  do {
    events.push_back(event_of(left.substr(0, kPiece), recording.cut));
    left.remove_prefix(std::min(left.size(), kPiece));
  } while (!left.empty());
  return events;
}

bool take_recording_event(std::string_view event, NetworkRecording& recording) {
  if (!event.starts_with(kStart)) {
    return false;
  }
  const auto parsed = nlohmann::json::parse(event, nullptr, false);
  if (!parsed.is_object()) {
    return false;
  }
  recording.bytes += from_base64(parsed.value("data", "")).value_or("");
  recording.cut = recording.cut || parsed.value("cut", false);
  return true;
}

}  // namespace glovebox
