// SPDX-License-Identifier: Apache-2.0
// Recordings of a network: whatever the bytes are, what is read answers each request once, and
// nothing is read of more bytes than are ever recorded.
#include "egress/recording.h"

#include <cstdint>
#include <string_view>

#include "egress/playback.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox::egress;
  auto recording = Recording::parse({reinterpret_cast<const char*>(data), size});
  if (!recording) {
    return 0;
  }
  const Recording copy = *recording;
  Playback playback(*std::move(recording));
  for (const RecordedExchange& each : copy.exchanges) {
    const bool raw = each.kind == RecordedExchange::Kind::kRaw;
    const RecordedExchange* const found =
        raw ? playback.connection(each.place)
            : playback.answer(each.place, each.kind == RecordedExchange::Kind::kSecure, each.asked);
    require(raw || found != nullptr);
    require(!each.to_text().empty());
  }
  for (const RecordedOpening& each : copy.openings) {
    const RecordedOpening* const found = playback.open(each.place);
    require(found != nullptr && found->refusal >= 400 && found->refusal <= 599);
  }
  return 0;
}
