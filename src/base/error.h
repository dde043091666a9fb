// SPDX-License-Identifier: Apache-2.0
// Error: why we, or the host, could not do what was asked. How a guest ended is never an Error;
// that is a Verdict (spec/verdict.h).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace glovebox {

// What the caller can do about it. One table in each door turns these into its own status codes;
// nothing else switches on them.
enum class ErrorCode {
  kInvalid,      // The request is wrong and will be wrong again.
  kNotFound,     // The named thing does not exist.
  kConflict,     // It exists in a state that forbids the operation.
  kExhausted,    // A limit or quota is used up; a later try may succeed.
  kUnsupported,  // This host, kernel or build cannot do it.
  kUnavailable,  // Something that we depend on failed; a later try may succeed.
  kRefused,      // Policy or approval said no.
  kInternal,     // A bug, or an answer of the kernel that nobody planned for.
};

class Error {
 public:
  // `message` is lower case without a full stop, outermost attempt first; `hint` is the fix, a
  // sentence for the person at the terminal, or empty if none is known.
  Error(ErrorCode code, std::string message, std::string hint = {})
      : code_(code), message_(std::move(message)), hint_(std::move(hint)) {}

  // For a call that has just failed with errno set: "open /x: No such file or directory".
  static Error from_errno(std::string_view call);
  static Error from_errno(std::string_view call, int errno_value);

  // The same error with what was being attempted in front: "start sandbox: mount /work: …".
  [[nodiscard]] Error within(std::string_view attempt) &&;
  [[nodiscard]] Error with_hint(std::string hint) &&;
  // The same error with a fact that code may act on. No code reads facts out of a message or a
  // hint: those are for people. Both facts cross the keeper's wire.
  [[nodiscard]] Error with_os_error(int errno_value) &&;
  [[nodiscard]] Error with_retry_after(std::chrono::seconds wait) &&;

  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }
  // The errno behind it, or 0 if there is none or it is not known.
  [[nodiscard]] int os_error() const { return os_error_; }
  // How long to wait before a further try may succeed, if that is known.
  [[nodiscard]] std::optional<std::chrono::seconds> retry_after() const { return retry_after_; }

 private:
  ErrorCode code_;
  std::string message_;
  std::string hint_;
  int os_error_ = 0;
  std::optional<std::chrono::seconds> retry_after_{};
};

}  // namespace glovebox
