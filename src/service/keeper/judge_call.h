// SPDX-License-Identifier: Apache-2.0
// Judging for a daemon: what `glovebox judge` does, with events.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "service/keeper/calls.h"

namespace glovebox::keeper {

Result<nlohmann::json> judge_cases(const JudgeRequest& request, CallContext& context);

}  // namespace glovebox::keeper
