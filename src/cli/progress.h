// SPDX-License-Identifier: Apache-2.0
// One live line on a terminal that says what we are waiting for.
#pragma once

#include <string_view>

namespace glovebox::cli {

class Progress {
 public:
  // Does nothing at all when not `enabled`.
  explicit Progress(bool enabled) : enabled_(enabled) {}

  void show(std::string_view phase);
  // Removes the line again, before other output or at the end.
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
};

}  // namespace glovebox::cli
