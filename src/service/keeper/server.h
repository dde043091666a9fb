// SPDX-License-Identifier: Apache-2.0
// The keeper's door: calls over a Unix socket in the daemon's data directory.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/keeper/keeper.h"

namespace glovebox::keeper {

// Serves until `stop_fd` becomes readable; also, unless the keeper stays(), until nothing has been
// held and nobody been connected for a minute. Each connection has a thread of its own, and must
// come from our own user, the daemon's, or root; what a call throws is its caller's error, and too
// many calls are refused (call_budget.h). A thread that does not end keeps the keeper alive after
// this has returned. Takes the socket over from `listening`.
Result<void> serve(const std::shared_ptr<Keeper>& keeper, UniqueFd listening, int stop_fd);

}  // namespace glovebox::keeper
