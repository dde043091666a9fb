// SPDX-License-Identifier: Apache-2.0
// MimeValues: translates what a kernel shows for the outside; keeps what is too large to go inline.
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "json_guard.h"

namespace glovebox::jupyter {

class MimeValues {
 public:
  static constexpr std::size_t kMaxKept = 64U << 20;
  static constexpr std::size_t kMaxTypes = 64;

  // Values over `inline_limit` bytes are sent by reference.
  explicit MimeValues(std::size_t inline_limit) : inline_limit_(inline_limit) {}

  // A Jupyter bundle in our form: texts that came as lists of lines are joined, binary types have
  // no line breaks, widgets are left out so that their plain text is shown.
  [[nodiscard]] Json translate(const Json& bundle);

  // The answer to a fetch frame.
  [[nodiscard]] Json fetch(const Json& request) const;

 private:
  struct Kept {
    std::string ref;
    std::string bytes;
  };

  Json keep(std::string bytes);

  std::size_t inline_limit_;
  std::list<Kept> kept_;  // The oldest first.
  std::size_t kept_size_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace glovebox::jupyter
