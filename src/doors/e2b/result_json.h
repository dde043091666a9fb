// SPDX-License-Identifier: Apache-2.0
// Events of an execution as lines of the code interpreter's answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "doors/e2b/fields.h"

namespace glovebox::e2b {

// Turns our events into E2B's, for one execution.
class ExecutionLines {
 public:
  // The lines for an event as the service gives it, each with its line break; empty for one that
  // has no counterpart.
  std::string take(std::string_view event);

  // The status of the verdict, once it has come. After that, there is nothing more to tell.
  [[nodiscard]] const std::optional<std::string>& status() const { return status_; }

 private:
  std::string ending(const Json& verdict);

  bool counted_ = false;
  bool failed_ = false;
  std::optional<std::string> status_;
};

// The fields of a result from its MIME bundle.
Json result_fields(const Json& bundle, bool main);

// A line of the answer: ASCII, because clients decode each piece from the network by itself.
std::string execution_line(const Json& json);

}  // namespace glovebox::e2b
