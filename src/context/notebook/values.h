// SPDX-License-Identifier: Apache-2.0
// What executions show, as commands that keep or print it need it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "context/context.h"
#include "spec/event.h"

namespace glovebox::cli {

// The event without values that came by reference only, which nothing but their agent could read:
// each is named in its text/plain.
[[nodiscard]] Event keep_inline(const Event& event);

// The text that a MIME value is; nothing when it is none.
[[nodiscard]] std::optional<std::string> text_of(const MimeBundle& data, std::string_view mime);

// The bytes that a value stands for: base64 decoded where the type is binary, and JSON as it is.
[[nodiscard]] std::optional<std::string> bytes_of(const MimeBundle& data, std::string_view mime);

// What ended an execution that did not end well, in words: "the time limit", "out of memory", …
[[nodiscard]] std::string describe(const Execution& execution, std::string_view language);

}  // namespace glovebox::cli
