// SPDX-License-Identifier: Apache-2.0
// What systemd gives a service and wants to hear from it (sd_listen_fds(3), sd_notify(3)), without
// its library: two environment variables and one datagram.
#pragma once

#include <string_view>
#include <vector>

namespace glovebox {

// The listening sockets that were passed to this very process, which owns them from now on; empty
// if there are none. Takes the variables out of the environment, so that no child believes that
// they are its own. Call it once, before any thread exists.
std::vector<int> take_inherited_sockets();

// Sends "READY=1" and the like; does nothing if nobody listens.
void tell_service_manager(std::string_view state);

}  // namespace glovebox
