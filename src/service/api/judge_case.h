// SPDX-License-Identifier: Apache-2.0
// JudgeCase: an input of a judged program, and what it should print.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace glovebox {

struct JudgeCase {
  std::string name;
  std::string input;     // For standard input.
  std::string expected;  // Of standard output.
  double points = 1;
  // In place of the submission's limits; see judge::set_time().
  std::optional<std::chrono::milliseconds> time{};
  std::optional<Bytes> memory{};
};

}  // namespace glovebox
