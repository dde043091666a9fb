// SPDX-License-Identifier: Apache-2.0
// What makes two runs of a module the same: a clock of the module's own, random numbers from a
// constant seed, and files that tell nothing of the host.
#pragma once

#include "base/result.h"
#include "sandbox/wasm/engine.h"
#include "sandbox/wasm/wasmtime.h"

namespace glovebox::wasm {

// Replaces those functions of WASI whose answers differ from run to run: clocks, waiting, random
// numbers, and the times and numbers of files. Time passes by asking for it and by waiting, which
// takes no time of the host. One for a process.
class Deterministic {
 public:
  // For a linker that has WASI already. `context` is the guest's store. Compiles code.
  static Result<Deterministic> make(const Wasmtime& api,
                                    Engine* engine,
                                    Linker* linker,
                                    Context* context);

  // To be called when the guest has been made with that linker, before it runs.
  [[nodiscard]] Result<void> join(const Instance& guest) const;

 private:
  Deterministic(const Wasmtime& api, Engine* engine, Context* context)
      : api_(api), engine_(engine), context_(context) {}

  Wasmtime api_;
  Engine* engine_;
  Context* context_;
  Module* behind_ = nullptr;
  Instance before_;
};

}  // namespace glovebox::wasm
