// SPDX-License-Identifier: Apache-2.0
// The calls by subject; calls.h finds one by its name.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "base/result.h"
#include "service/keeper/calls.h"

namespace glovebox::keeper {

struct Call {
  std::string_view name;
  Result<nlohmann::json> (*function)(const nlohmann::json&, CallContext&);
  CallKind kind = CallKind::kShort;
};

std::span<const Call> keeper_calls();
std::span<const Call> sandbox_calls();
std::span<const Call> context_calls();
std::span<const Call> process_calls();
std::span<const Call> image_calls();

}  // namespace glovebox::keeper
