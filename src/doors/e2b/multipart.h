// SPDX-License-Identifier: Apache-2.0
// Multipart: the parts of a form with files (RFC 7578), as they come.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "files/file_client.h"

namespace glovebox::e2b {

class Multipart {
 public:
  struct Part {
    std::string name;
    std::optional<std::string> filename;  // As it was sent, with its directories.
  };

  // The boundary in a Content-Type; nothing when it is not a form with files, or malformed.
  static std::optional<std::string> boundary_of(std::string_view content_type);

  Multipart(std::string_view boundary, FileClient::Source source);

  // Skips the rest of the current part and returns the next one; nothing at the end. kInvalid when
  // the body is malformed or ends too early.
  Result<std::optional<Part>> next();

  // The next bytes of the current part; 0 at its end.
  Result<std::size_t> read(std::span<char> into);

 private:
  // Reads more into the buffer; false at the end of the body.
  Result<bool> fill();
  // Takes the text before `mark`, at most `most` bytes, and the mark itself.
  Result<std::string> take_until(std::string_view mark, std::size_t most);

  FileClient::Source source_;
  std::string delimiter_;  // With the line break before it.
  std::string buffer_;
  std::size_t start_ = 0;  // How much of the buffer was read.
  std::size_t parts_ = 0;
  bool in_part_ = false;
  bool ended_ = false;
};

}  // namespace glovebox::e2b
