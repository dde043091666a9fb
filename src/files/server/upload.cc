// SPDX-License-Identifier: Apache-2.0
#include "files/server/upload.h"

namespace glovebox::files {

Result<std::string_view> Upload::next() {
  while (!over_) {
    const Frame frame = GB_TRY(channel_->receive());
    switch (static_cast<Request>(frame.type)) {
      case Request::kData:
        if (!frame.payload.empty()) {
          return frame.payload;
        }
        break;
      case Request::kEnd:
        over_ = true;
        break;
      case Request::kAbort:
        over_ = true;
        return Error(ErrorCode::kConflict, "the client canceled the upload");
      default:
        return Error(ErrorCode::kUnavailable, "the client sent an unexpected message");
    }
  }
  return std::string_view();
}

Result<void> Upload::drain() {
  while (!over_) {
    const auto piece = next();
    if (!piece && !over_) {
      return piece.error();
    }
  }
  return {};
}

}  // namespace glovebox::files
