// SPDX-License-Identifier: Apache-2.0
// LargeValues: what cells have shown that was too large to come with its event. The agent keeps the
// newest 64 MiB of it; here is only where to ask.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "context/context.h"
#include "context/notebook/values.h"

namespace glovebox::cli {

class LargeValues {
 public:
  // Remembers what the event of cell `cell` refers to. True when there is anything.
  bool note(std::size_t cell, const Event& event);

  // The interpreter that kept them is gone.
  void forget() { kept_.clear(); }

  struct Entry {
    std::size_t cell = 0;
    notebook::Reference reference;
  };
  // The newest of that type, of one cell or of any.
  [[nodiscard]] std::optional<Entry> find(std::string_view mime,
                                          std::optional<std::size_t> cell) const;

  // Its bytes. Fails with kNotFound when the agent has let go of it.
  static Result<std::string> fetch(Context& context, const notebook::Reference& reference);

  // As the agent keeps it: base64 for binary types. Fails with kUnavailable after `deadline`, and
  // when `cancel_fd` becomes readable; -1 for never.
  static Result<std::string> fetch_encoded(Context& context,
                                           const notebook::Reference& reference,
                                           std::chrono::steady_clock::time_point deadline,
                                           int cancel_fd = -1);

 private:
  std::vector<Entry> kept_;
};

}  // namespace glovebox::cli
