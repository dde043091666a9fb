// SPDX-License-Identifier: Apache-2.0
#include "cli/cell_end.h"

namespace glovebox::cli {

std::string describe(const Execution& execution, std::string_view language) {
  switch (execution.status) {
    case Status::kTimeout:
      return execution.limit == "cpu_time" ? "the cell exceeded its CPU time limit"
                                           : "the cell exceeded its time limit";
    case Status::kOutOfMemory:
      return "the cell exceeded its memory limit; raise --memory";
    case Status::kPidsLimit:
      return "the cell exceeded its process limit; raise --pids";
    case Status::kDiskFull:
      return "the cell exceeded its disk limit; raise --disk";
    case Status::kCanceled:
      return "interrupted";
    case Status::kSignaled:
      return std::string(language) + " was killed by signal " +
             std::to_string(execution.signal.value_or(0));
    default:
      return std::string(language) + " ended with exit status " +
             std::to_string(execution.exit_code);
  }
}

}  // namespace glovebox::cli
