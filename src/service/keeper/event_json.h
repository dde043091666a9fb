// SPDX-License-Identifier: Apache-2.0
// The events of a context as JSON lines (contracts.md, "Events").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "spec/event.h"

namespace glovebox::keeper {

// `input_request` is the number of a request for input, where the event is one.
std::string event_json(const Event& event, std::string_view sandbox, std::uint64_t input_request);

}  // namespace glovebox::keeper
