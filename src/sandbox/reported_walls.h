// SPDX-License-Identifier: Apache-2.0
// What a warden reports of the walls around it, beside what the tier has put up.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/tiers/tier.h"
#include "spec/verdict.h"
#include "spec/warden_protocol.h"

namespace glovebox {

// Fills in all of `walls` but what the spec decides, of which it uses `user`. Each step of the
// set-up was checked as it was made; kInternal means that the sandbox lacks a wall that every
// sandbox needs: it must not start a guest.
Result<void> read_walls(const warden::ReadyReport& ready, const Enclosure& enclosure, Walls& walls);

// What a person should know of walls that read_walls() has read.
std::vector<std::string> notes_on_walls(const warden::ReadyReport& ready,
                                        const Enclosure& enclosure,
                                        const Walls& walls);

// Whether memory is limited by measuring it, because no cgroup limits it.
bool watches_memory(const Enclosure& enclosure);

}  // namespace glovebox
