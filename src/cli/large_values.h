// SPDX-License-Identifier: Apache-2.0
// LargeValues: values shown by cells that were too large to come with their events. The agent keeps
// the newest 64 MiB of them; this class only knows what to ask for.
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
  // Remembers what the event of cell `cell` refers to. True if it refers to anything.
  bool note(std::size_t cell, const Event& event);

  // The interpreter that kept them is gone.
  void forget() { kept_.clear(); }

  struct Entry {
    std::size_t cell = 0;
    notebook::Reference reference;
  };
  // The newest value of that type, of one cell or of any.
  [[nodiscard]] std::optional<Entry> find(std::string_view mime,
                                          std::optional<std::size_t> cell) const;

  // Its bytes. Fails with kNotFound if the agent no longer keeps it.
  static Result<std::string> fetch(Context& context, const notebook::Reference& reference);

  // As the agent keeps it: base64 for binary types. Fails with kUnavailable after `deadline`, or
  // when `cancel_fd` becomes readable; -1 for never.
  static Result<std::string> fetch_encoded(Context& context,
                                           const notebook::Reference& reference,
                                           std::chrono::steady_clock::time_point deadline,
                                           int cancel_fd = -1);

 private:
  std::vector<Entry> kept_;
};

}  // namespace glovebox::cli
