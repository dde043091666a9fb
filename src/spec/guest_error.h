// SPDX-License-Identifier: Apache-2.0
// GuestError: an uncaught error as the guest's own language reports it.
#pragma once

#include <string>

namespace glovebox {

struct GuestError {
  std::string name;
  std::string value;
  std::string traceback;
  friend bool operator==(const GuestError&, const GuestError&) = default;
};

}  // namespace glovebox
