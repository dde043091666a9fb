// SPDX-License-Identifier: Apache-2.0
// The events of a context as JSON lines (contracts.md, "Events").
#pragma once

#include <string>
#include <string_view>

#include "spec/event.h"

namespace glovebox::keeper {

std::string event_json(const Event& event, std::string_view sandbox);

}  // namespace glovebox::keeper
