// SPDX-License-Identifier: Apache-2.0
#include "spec/code_place.h"

#include "base/utf8.h"

namespace glovebox {

Result<std::size_t> cursor_of(const CodePlace& place) {
  if (place.code.size() > CodePlace::kMaxCode) {
    return Error(ErrorCode::kInvalid, "the code is larger than 256 KiB",
                 "send only the part around the cursor");
  }
  const std::size_t length = count_characters(place.code);
  if (place.cursor.value_or(0) > length) {
    return Error(ErrorCode::kInvalid,
                 "the cursor " + std::to_string(*place.cursor) +
                     " is beyond the end of the code, " + std::to_string(length),
                 "count Unicode code points, not bytes or UTF-16 units");
  }
  return place.cursor.value_or(length);
}

}  // namespace glovebox
