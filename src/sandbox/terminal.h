// SPDX-License-Identifier: Apache-2.0
// Terminals of guest processes, as held outside.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "spec/warden_protocol.h"

namespace glovebox {

// Both ends. What is written to `ours` is typed, and what is read from it was shown.
struct TerminalEnds {
  UniqueFd ours;    // Non-blocking.
  UniqueFd theirs;  // For the process, or the relay of its streams.
};

// From the host's own devpts (pty(7)): the guest gets an open terminal, and no way to another one.
Result<TerminalEnds> open_terminal(warden::TerminalSize size);
Result<void> resize_terminal(const UniqueFd& ours, warden::TerminalSize size);

// Both ends are sockets; the terminal itself is the sandbox's.
Result<TerminalEnds> connect_terminal();

}  // namespace glovebox
