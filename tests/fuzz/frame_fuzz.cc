// SPDX-License-Identifier: Apache-2.0
// FrameParser: however a stream is cut into pieces, the same frames come out of it, and what was
// parsed is what append_frame() would write.
#include <algorithm>
#include <cstdint>
#include <string>

#include "base/frame.h"
#include "require.h"

namespace {

using glovebox::Frame;
using glovebox::FrameParser;

// Takes all whole frames, written anew. False when the stream has become meaningless.
bool drain(FrameParser& parser, std::string& out) {
  for (;;) {
    Frame frame;
    const auto got = parser.next(frame);
    if (!got) {
      return false;
    }
    if (!got.value()) {
      return true;
    }
    require(frame.payload.size() <= glovebox::kMaxFramePayload);
    glovebox::append_frame(out, frame.type, frame.channel, frame.payload);
  }
}

}  // namespace

// The first byte says how many piece sizes follow; the rest is the stream.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::size_t sizes = std::min<std::size_t>(data[0] % 16, size - 1);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view stream = input.substr(1 + sizes);

  FrameParser whole;
  whole.feed(stream);
  std::string expected;
  const bool meaningful = drain(whole, expected);
  require(stream.starts_with(expected));

  FrameParser parser;
  std::string frames;
  bool ok = true;
  std::size_t turn = 0;
  for (std::size_t at = 0; ok && at < stream.size();) {
    const std::size_t piece = sizes == 0 ? 1 : 1 + data[1 + turn++ % sizes];
    parser.feed(stream.substr(at, piece));
    at += std::min(piece, stream.size() - at);
    ok = drain(parser, frames);
  }
  require(ok == meaningful);
  require(frames == expected);
  return 0;
}
