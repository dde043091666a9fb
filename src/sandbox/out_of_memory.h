// SPDX-License-Identifier: Apache-2.0
// Programs that give up by themselves before the kernel has to kill them for their memory: the heap
// of a JVM or of V8 has a limit of its own below the sandbox's, and an allocation may be refused.
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace glovebox {

// Whether a program that ended with an error ran out of memory: it says so in the words of its
// runtime, and its sandbox has used at least half of what it may. A guest can fake both, but only
// chooses between two ways to fail: callers ask only about an end that is an error anyway.
// `said` is its standard error, or the end of it.
bool gave_up_on_memory(std::string_view said, std::optional<Bytes> peak, Bytes limit);

}  // namespace glovebox
