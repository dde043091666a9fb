// SPDX-License-Identifier: Apache-2.0
// The arguments of a daemon's call: plain values, and what they name in the keeper.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "service/keeper/calls.h"

namespace glovebox::keeper {

// Empty, 0 or an empty object if an argument is missing or of another kind.
std::string text_in(const nlohmann::json& arguments, const char* name);
std::int64_t number_in(const nlohmann::json& arguments, const char* name);
const nlohmann::json& object_in(const nlohmann::json& arguments, const char* name);

// What "order" asks for, with its paths resolved as the keeper's own (own_paths.h).
Result<CreateOrder> order_in(const nlohmann::json& arguments, const CallContext& context);

// What "sandbox" names.
Result<std::shared_ptr<HeldSandbox>> sandbox_in(const nlohmann::json& arguments,
                                                const CallContext& context);

// Something inside a sandbox, and the sandbox, which must not end before it.
template <typename T>
struct Inside {
  std::shared_ptr<HeldSandbox> sandbox;
  std::shared_ptr<T> inner;
  T* operator->() const { return inner.get(); }
};

// What "context" or "pid" names in that sandbox.
Result<Inside<HeldContext>> context_in(const nlohmann::json& arguments, const CallContext& context);
Result<Inside<HeldProcess>> process_in(const nlohmann::json& arguments, const CallContext& context);

// How long a call waits for its turn in a context. Shorter than its caller's patience: what comes
// after the waiting takes time, too.
Patience turn_patience(const CallContext& context);

// Completing a line waits for a moment, and not for a whole cell.
Patience question_patience(const CallContext& context);

}  // namespace glovebox::keeper
