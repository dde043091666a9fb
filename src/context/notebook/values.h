// SPDX-License-Identifier: Apache-2.0
// The values of MIME bundles, for code that keeps or shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/event.h"

namespace glovebox::notebook {

// What happens to values that came by reference only, which nothing but their agent can read.
enum class References {
  kLeaveOut,  // Each is named in the text/plain of its bundle.
  kKeep,      // Somebody will fetch them.
};

// The event with only those values that a notebook may hold: a text, or JSON of a JSON type.
[[nodiscard]] Event keep_inline(const Event& event, References references = References::kLeaveOut);

// A value that its agent keeps, for whoever asks for it (agents/README.md, fetch).
struct Reference {
  std::string mime;
  std::string name;
  std::uint64_t size = 0;  // Of what fetch gives, in bytes.
};
[[nodiscard]] std::vector<Reference> references_in(const MimeBundle& data);

// Removes these values, and names them in the text/plain.
void leave_out(MimeBundle& data, const std::vector<Reference>& references);

// The JSON text of a fetched value, as it would have come inline; nothing if it is not a value that
// its type may have.
[[nodiscard]] std::optional<std::string> value_of_fetched(std::string fetched,
                                                          std::string_view mime);

// The bytes that a fetched value stands for, as bytes_of() would give them had it come inline.
[[nodiscard]] std::optional<std::string> bytes_of_fetched(std::string fetched,
                                                          std::string_view mime);

// The text of a MIME value; nothing if the value is not a text.
[[nodiscard]] std::optional<std::string> text_of(const MimeBundle& data, std::string_view mime);

// The bytes that a value stands for: base64 decoded if the type is binary, and JSON as it is.
[[nodiscard]] std::optional<std::string> bytes_of(const MimeBundle& data, std::string_view mime);

}  // namespace glovebox::notebook
