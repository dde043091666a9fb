// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "base/text.h"
#include "cli/command.h"

namespace glovebox::cli {

int report(const Error& error) {
  std::cerr << "glovebox: " << printable(error.message()) << "\n";
  if (!error.hint().empty()) {
    std::cerr << "  hint: " << printable(error.hint()) << "\n";
  }
  switch (error.code()) {
    case ErrorCode::kInvalid:
    case ErrorCode::kNotFound:
      return kExitWrongUsage;
    case ErrorCode::kRefused:
      return kExitRefused;
    default:
      return kExitFailed;
  }
}

}  // namespace glovebox::cli
