// SPDX-License-Identifier: Apache-2.0
// Who listens where we cannot, for the hint of an error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace glovebox::http {

// The process that listens on a TCP port of this machine, in this network namespace. Nothing if
// none does, or if we may not see its descriptors (proc(5)).
std::optional<pid_t> listener_of_port(std::uint16_t port);

// A hint for a caller that wants to listen where `process` does: who that is, and what to do.
std::string occupied_hint(std::optional<pid_t> process);

}  // namespace glovebox::http
