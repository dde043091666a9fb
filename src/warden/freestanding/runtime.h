// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace glovebox::warden {

// Writes the message to standard error and ends the process, and with it the sandbox.
[[noreturn]] void die(const char* message) noexcept;

}  // namespace glovebox::warden
