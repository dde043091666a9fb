// SPDX-License-Identifier: Apache-2.0
// What glovebox-checker reads from its standard input.
#pragma once

#include <string_view>

#include "base/result.h"

namespace glovebox::checker {

// The size of the schema as a decimal number, a line feed, the schema, and the document. The views
// point into the text.
struct Request {
  std::string_view schema{};
  std::string_view document{};
};

// kInternal if the text is not a request: only our own programs write it.
Result<Request> parse_request(std::string_view text);

}  // namespace glovebox::checker
