// SPDX-License-Identifier: Apache-2.0
// Which addresses are this machine's own.
#pragma once

#include "spec/ip_address.h"
#include "spec/network_rules.h"

namespace glovebox::egress {

// According to the kernel's routes at this moment; nothing is sent. An address without a route is
// kOther. Any thread.
AddressOwner owner_of(const IpAddress& address);

}  // namespace glovebox::egress
