// SPDX-License-Identifier: Apache-2.0
// Answers what the watched filters of sandboxes ask about (policy/watched.h), and keeps a ledger of
// it for each sandbox.
//
// A refused call gets the errno that the filter without a listener would give, and never continues;
// a program start always continues, because the kernel, not we, decides about it. One thread
// answers for all sandboxes of this process. It answers 3,200 calls a second for each sandbox; a
// guest that asks for more waits. That bounds how much processor time guests take that is not
// theirs, and no other sandbox waits for it. When this process ends, its sandboxes end too; what
// they ask until then fails with ENOSYS.
//
// There is one for the whole process, not an object that the maker of a sandbox passes on: if the
// maker lost it, nobody would watch the guests, and its thread must outlive the last of them.
//
// What the forks of a zygote ask comes to the listener of the zygote's realm. So guests are told
// apart by their pid namespace, because each sandbox has its own.
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

// For the maker of a sandbox: serves its listener until everything under its filter has ended.
// `warden` is a pidfd of its first process.
void serve_calls(UniqueFd listener, int warden);
// Says what the sandbox is called; does nothing if it is not watched.
void name_watched(std::string id, int warden);

[[nodiscard]] bool is_watched(std::string_view id);

// Tells `told`, in another thread, what the guests of the sandbox have asked for and will ask for,
// until all of them have ended; `told` must not wait. False if nobody can know that: the sandbox
// is not watched, or does not exist.
bool tell_acts(std::string_view id, GuestLedger::Told told);

}  // namespace glovebox
