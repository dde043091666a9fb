// SPDX-License-Identifier: Apache-2.0
// The network of a container, which an engine made with nothing in it but a loopback device.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sandbox/handing.h"

namespace glovebox::docker {

// Makes the way out (child/way_out.h) in the network namespace of this process, the first of a
// container in which nothing of a guest's runs yet. Needs root. kUnsupported if that namespace is
// our own, or has another device that is up: rules would not be a wall there.
Result<WayOut> way_out_of(int pidfd, std::uint16_t port);

}  // namespace glovebox::docker
