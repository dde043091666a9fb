// SPDX-License-Identifier: Apache-2.0
// LiveContext: a sandbox with a context in it, to be owned together.
#pragma once

#include <memory>

#include "context/context.h"
#include "context/zygote.h"
#include "sandbox/sandbox.h"

namespace glovebox {

struct LiveContext {
  std::shared_ptr<Zygote> zygote{};  // Outlives what was forked from it. Null: not a fork.
  std::unique_ptr<Sandbox> sandbox{};
  std::unique_ptr<Context> context{};  // May be absent.

  [[nodiscard]] bool alive() const { return sandbox->alive() && (!zygote || zygote->alive()); }
};

}  // namespace glovebox
