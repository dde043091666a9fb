// SPDX-License-Identifier: Apache-2.0
// Which addresses are this machine's own.
#pragma once

#include "spec/ip_address.h"
#include "spec/network_rules.h"

namespace glovebox::egress {

// As the kernel's routes have it at this moment; nothing is sent. Where there is no route to it, it
// is nobody's. Any thread.
AddressOwner owner_of(const IpAddress& address);

}  // namespace glovebox::egress
