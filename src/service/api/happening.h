// SPDX-License-Identifier: Apache-2.0
// Happening: something that no caller did, and that the journal must record.
#pragma once

#include <string>

namespace glovebox {

// Fields of a record (audit/record.h).
struct Happening {
  std::string tenant{};
  std::string sandbox{};
  std::string action{};
  std::string subject{};
  std::string result{};
  std::string details = "{}";  // JSON text of an object.
};

}  // namespace glovebox
