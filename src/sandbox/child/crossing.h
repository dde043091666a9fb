// SPDX-License-Identifier: Apache-2.0
// How a child leaves the world of its maker: it waits for its ids, takes them, moves into its own
// root, and leaves the session behind. Both kinds of children do: a sandbox's first process
// (enter.cc) and the programs of a guest's kernel (kernel_part.cc).
//
// As there: system calls only, no allocation, no locks. Everything returns zero or a negative
// errno.
#pragma once

#include <cstdint>

namespace glovebox::child {

// Waits until there is something to read from the maker, whose pidfd is `maker`. Fails with
// -ECANCELED if the maker is gone, and with -ETIMEDOUT after longer than a maker takes even on a
// starved machine.
long await_word(int from, int maker) noexcept;

// Likewise, and reads one byte: the maker has mapped our ids then.
long await_maker(int from, int maker) noexcept;

// Leaves all groups, and has these ids alone.
long become(std::uint32_t uid, std::uint32_t gid) noexcept;

// The current directory, a mount, becomes the root; the old one is out of reach.
long change_root() noexcept;

// A controlling terminal could be typed into; keys of the caller's session could be used.
void leave_session() noexcept;

}  // namespace glovebox::child
