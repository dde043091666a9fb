// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/calls.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/json/json.h"
#include "service/keeper/call_table.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

const Call* find(std::string_view name) {
  for (const auto& table :
       {sandbox_calls(), context_calls(), process_calls(), image_calls(), keeper_calls()}) {
    if (const auto found = std::ranges::find(table, name, &Call::name); found != table.end()) {
      return &*found;
    }
  }
  return nullptr;
}

}  // namespace

CallTerms terms_of(std::string_view name) {
  const Call* const found = find(name);
  const CallKind kind = found == nullptr ? CallKind::kShort : found->kind;
  switch (kind) {
    case CallKind::kStream:
      return {.kind = kind, .patience = std::nullopt};
    case CallKind::kLong:
      return {.kind = kind, .patience = 180s};
    case CallKind::kEnds:  // The end of a sandbox is waited for.
    case CallKind::kShort:
      break;
  }
  return {.kind = kind, .patience = 30s};
}

Result<nlohmann::json> call(std::string_view name,
                            const nlohmann::json& arguments,
                            CallContext& context) {
  if (const Call* const found = find(name)) {
    return found->function(arguments, context);
  }
  return Error(ErrorCode::kInvalid, "unknown keeper call '" + std::string(name) + "'",
               "stop the keeper of the other version and start the daemon again");
}

}  // namespace glovebox::keeper
