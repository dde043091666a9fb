// SPDX-License-Identifier: Apache-2.0
// Our end of launcher/protocol.h.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/launcher/protocol.h"

namespace glovebox::launcher {

struct Greeting {
  Hello hello;
  bool returned_descriptor = false;  // One that the launcher sent has arrived.
};

// Offers a descriptor and takes the launcher's Hello. kUnavailable when none comes within half a
// minute.
Result<Greeting> greet(const UniqueFd& control);

// The launcher then does as it is told, and reports on the same socket.
Result<void> give_order(const UniqueFd& control, const Order& order);

}  // namespace glovebox::launcher
