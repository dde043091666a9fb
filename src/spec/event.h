// SPDX-License-Identifier: Apache-2.0
// Event: something that an execution showed while it ran, as its context told it.
//
// MIME values are kept as the JSON text of Jupyter's messages: a string for text, base64 in a
// string for binary types, any value for JSON types. They come from the guest: rely on nothing more
// than that they are valid JSON in valid UTF-8.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "spec/guest_error.h"

namespace glovebox {

// MIME type to the JSON text of its value.
using MimeBundle = std::map<std::string, std::string>;

struct Event {
  enum class Kind {
    kStarted,       // `execution_count`: the code was taken.
    kStdout,        // `text`
    kStderr,        // `text`
    kDisplay,       // `data`, `metadata`; with `update`, in place of what had `display_id` before.
    kResult,        // `data`, `metadata`, `execution_count`: the value of the last expression.
    kError,         // `error`
    kClear,         // Forget the output so far; with `update`, only when the next comes.
    kInputRequest,  // `text` is the prompt; `secret` when the answer must not be shown; `request`.
    kToolCall,      // `text` is the name of a tool that was offered; `arguments`, `request`.
    kNote,          // `text`: something that the caller should know.
  };

  Kind kind = Kind::kStdout;
  std::string text{};
  MimeBundle data{};
  std::string metadata = "{}";  // JSON text of an object.
  std::string display_id{};
  bool update = false;
  bool secret = false;
  int execution_count = 0;
  std::uint64_t request = 0;  // What its answer names.
  std::string arguments{};    // JSON text of an object, in one line.
  GuestError error{};

  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace glovebox
