// SPDX-License-Identifier: Apache-2.0
// One range of bytes of a file (RFC 9110, 14.1.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace glovebox::e2b {

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t length = 0;
};

enum class RangeKind { kWhole, kPart, kUnsatisfiable };
struct RangeWish {
  RangeKind kind = RangeKind::kWhole;
  ByteRange range;
};

// What a Range header asks of a file of `size` bytes. Several ranges, or a malformed header, get
// the whole file, as the RFC allows.
RangeWish parse_range(std::string_view header, std::uint64_t size);

}  // namespace glovebox::e2b
