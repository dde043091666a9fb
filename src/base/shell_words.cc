// SPDX-License-Identifier: Apache-2.0
#include "base/shell_words.h"

namespace glovebox {

std::string shell_quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += R"('\'')";
    } else {
      text += c;
    }
  }
  return text + "'";
}

}  // namespace glovebox
