// SPDX-License-Identifier: Apache-2.0
// The differences between an execution that a journal recorded and its replay.
#pragma once

#include <string>
#include <vector>

#include "cli/daemon/daemon_client.h"

namespace glovebox::cli {

inline constexpr int kExitDifferent = 1;

// What is different, by name, and how to show it to a person.
struct Difference {
  std::string name;
  std::string shown;
};

// `end` is the record of the execution's end (service/guarded/replay_records.h).
std::vector<Difference> compare(const Json& end, const Json& verdict);

// As a JSON list.
Json names_of(const std::vector<Difference>& differences);

}  // namespace glovebox::cli
