// SPDX-License-Identifier: Apache-2.0
// Answers what the watched filters of sandboxes ask about (policy/watched.h), and keeps a ledger of
// it for each sandbox.
//
// A refused call gets the errno that the filter without a listener would give, and never goes on; a
// program that is started always goes on, because the kernel, not we, decides about it. One thread
// answers for all sandboxes of this process. It answers 3,200 calls a second of each sandbox;
// whoever asks for more waits for that, which bounds what guests take of processor time that is not
// theirs, and no other sandbox waits for it. When this process ends, its sandboxes do; what is
// asked until then fails with ENOSYS.
//
// It is the process's, and no object that whoever makes a sandbox passes on: guests whose maker has
// forgotten it would be watched by nobody, and its thread may not end before the last of them.
//
// What the forks of a zygote ask comes to the listener of the zygote's realm. So guests are told
// apart by the pid namespace that they are in, which each sandbox has of its own.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "sandbox/guest_acts.h"

namespace glovebox {

// Sandboxes of the tier native that this process makes from now on are watched, as far as its
// kernel lets it. Any thread may call this and what follows.
void watch_calls();
[[nodiscard]] bool calls_are_watched();

// For whoever makes a sandbox: serves its listener, until all that is under its filter has ended.
// `warden` is a pidfd of its first process.
void serve_calls(UniqueFd listener, int warden);
// What the sandbox is called; nothing happens where it is not watched.
void name_watched(std::string id, int warden);

[[nodiscard]] bool is_watched(std::string_view id);

// Tells `told`, in another thread, what the guests of the sandbox have asked for and will ask for,
// until all of them have ended; `told` must not wait. False where nobody can know that: the sandbox
// is not watched, or is none.
bool tell_acts(std::string_view id, GuestLedger::Told told);

}  // namespace glovebox
