// SPDX-License-Identifier: Apache-2.0
// What guests ask their kernel for (sandbox/guest_acts.h), as records of the audit journal.
#pragma once

#include <string>
#include <string_view>

#include "service/keeper/happenings.h"

namespace glovebox::keeper {

// Notes what the guests of this sandbox are refused and what they start, from its beginning until
// they have ended. False if nobody can know that, or nobody wants to (sandbox/call_watch.h).
bool note_acts(Happenings& happenings, const std::string& tenant, std::string_view sandbox);

// Notes that nobody can know it, if somebody wants to.
void note_unwatched(Happenings& happenings,
                    const std::string& tenant,
                    std::string_view sandbox,
                    std::string_view tier);

// Nothing is noted after this returns. Must be called before `happenings` ends.
void stop_noting_acts();

}  // namespace glovebox::keeper
