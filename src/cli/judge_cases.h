// SPDX-License-Identifier: Apache-2.0
// The cases of `glovebox judge`: files of a directory.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "service/judge/judge.h"

namespace glovebox::cli {

// Reads NAME.in with NAME.out or NAME.ans, for each NAME, in the order in which people count
// (case2 before case10). With `needs_expected`, fails if an expected output is missing; otherwise,
// a missing one is empty. Limits and points that differ come from cases.toml, if there is one:
//   [NAME]
//   time = "2s"
//   memory = "256M"
//   points = 10
Result<std::vector<judge::Case>> read_cases(const std::string& directory, bool needs_expected);

}  // namespace glovebox::cli
