// SPDX-License-Identifier: Apache-2.0
// One-shot runs for a daemon: the events of `glovebox run --events`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "service/keeper/calls.h"

namespace glovebox::keeper {

Result<nlohmann::json> run_one_shot(const RunRequest& request, CallContext& context);

}  // namespace glovebox::keeper
