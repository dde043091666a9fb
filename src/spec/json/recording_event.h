// SPDX-License-Identifier: Apache-2.0
// A recording of a network as events, by which a keeper hands it to its daemon. The daemon keeps
// it, and passes none of these events on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/network_tape.h"

namespace glovebox {

// At least one.
[[nodiscard]] std::vector<std::string> recording_events(const NetworkRecording& recording);

// Adds what the event has to the recording; false for any other event.
bool take_recording_event(std::string_view event, NetworkRecording& recording);

}  // namespace glovebox
