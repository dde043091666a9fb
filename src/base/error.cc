// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace glovebox {
namespace {

ErrorCode code_of(int errno_value) {
  switch (errno_value) {
    case ENOENT:
      return ErrorCode::kNotFound;
    case EINVAL:
    case ENAMETOOLONG:
    case EXDEV:
    case ELOOP:
      return ErrorCode::kInvalid;
    case EPERM:
    case EACCES:
    case ENOSYS:
    case EOPNOTSUPP:
      return ErrorCode::kUnsupported;
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case EDQUOT:
      return ErrorCode::kExhausted;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

Error Error::from_errno(std::string_view call) { return from_errno(call, errno); }

Error Error::from_errno(std::string_view call, int errno_value) {
  // strerrordesc_np is thread-safe and does not depend on the locale (glibc 2.32).
  const char* text = ::strerrordesc_np(errno_value);
  std::string message(call);
  message += ": ";
  message += text != nullptr ? std::string(text) : "error " + std::to_string(errno_value);
  return Error(code_of(errno_value), std::move(message)).with_os_error(errno_value);
}

Error Error::within(std::string_view attempt) && {
  std::string message(attempt);
  message += ": ";
  message += message_;
  message_ = std::move(message);
  return std::move(*this);
}

Error Error::with_hint(std::string hint) && {
  hint_ = std::move(hint);
  return std::move(*this);
}

Error Error::with_os_error(int errno_value) && {
  os_error_ = errno_value;
  return std::move(*this);
}

Error Error::with_retry_after(std::chrono::seconds wait) && {
  retry_after_ = wait;
  return std::move(*this);
}

}  // namespace glovebox
