// SPDX-License-Identifier: Apache-2.0
// What a call of the daemon's names: plain arguments, and what they stand for in the keeper.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "service/keeper/calls.h"

namespace glovebox::keeper {

// Empty, 0 or an empty object where an argument is missing or of another kind.
std::string text_in(const nlohmann::json& arguments, const char* name);
std::int64_t number_in(const nlohmann::json& arguments, const char* name);
const nlohmann::json& object_in(const nlohmann::json& arguments, const char* name);

// What "order" wishes for, with paths that are of the keeper's own directory.
Result<CreateOrder> order_in(const nlohmann::json& arguments, const CallContext& context);

// What "sandbox" names.
Result<std::shared_ptr<HeldSandbox>> sandbox_in(const nlohmann::json& arguments,
                                                const CallContext& context);

// Something of a sandbox, which must not end before that.
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

// Who completes a line waits for a moment and not for a cell.
Patience question_patience(const CallContext& context);

}  // namespace glovebox::keeper
