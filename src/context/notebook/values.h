// SPDX-License-Identifier: Apache-2.0
// The values of MIME bundles, for whoever keeps or shows them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "spec/event.h"

namespace glovebox::notebook {

// The event without values that came by reference only, which nothing but their agent could read:
// each is named in its text/plain.
[[nodiscard]] Event keep_inline(const Event& event);

// The text that a MIME value is; nothing when it is none.
[[nodiscard]] std::optional<std::string> text_of(const MimeBundle& data, std::string_view mime);

// The bytes that a value stands for: base64 decoded where the type is binary, and JSON as it is.
[[nodiscard]] std::optional<std::string> bytes_of(const MimeBundle& data, std::string_view mime);

}  // namespace glovebox::notebook
