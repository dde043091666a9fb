// SPDX-License-Identifier: Apache-2.0
// hand_out(): descriptors made in a sandbox that is being born, for its maker.
#pragma once

#include <span>

namespace glovebox::child {

// Sends descriptors, two at most, or a byte alone, and closes them and the socket. Returns zero or
// a negative errno.
long hand_out(long to, std::span<const int> descriptors) noexcept;

}  // namespace glovebox::child
