// SPDX-License-Identifier: Apache-2.0
// The calls that a daemon makes of its keeper, by name: each from a request to an answer.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/keeper/keeper.h"
#include "service/keeper/wire.h"

namespace glovebox::keeper {

// What a call is given beside its arguments.
struct CallContext {
  Keeper& keeper;
  // Tells the caller something before the answer. A caller that is gone is not told, and nothing
  // else happens: what runs goes on.
  std::function<void(std::string_view)> tell;
  // For what passes more on than tell(), or without waiting.
  KeeperWire& wire;
  // False when the caller is gone; its socket becomes readable then, and never else.
  std::function<bool()> listens;
  int socket = -1;
  // Goes with the answer.
  std::vector<UniqueFd> passed{};
};

// The answer. Fails with kInvalid for a call that there is not.
Result<nlohmann::json> call(std::string_view name,
                            const nlohmann::json& arguments,
                            CallContext& context);

}  // namespace glovebox::keeper
