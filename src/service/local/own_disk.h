// SPDX-License-Identifier: Apache-2.0
// Errors of the disk that the data directory is on.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include "base/error.h"

namespace glovebox {

// The error of a call that has just failed with errno set. If our own disk is full, that is no
// limit of the caller's, who cannot make room: kUnavailable, not kExhausted.
inline Error own_disk_error(std::string_view call) {
  const int error = errno;
  Error told = Error::from_errno(call, error);
  if (error != ENOSPC && error != EDQUOT) {
    return told;
  }
  return {ErrorCode::kUnavailable, told.message(), "free some space on the data directory's disk"};
}

}  // namespace glovebox
