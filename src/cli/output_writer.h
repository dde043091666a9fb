// SPDX-License-Identifier: Apache-2.0
// What a person or a program that reads our output sees while a guest runs and at its end.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "cli/colour_filter.h"
#include "service/runs/one_shot.h"
#include "spec/verdict.h"

namespace glovebox::cli {

// What happens to terminal control sequences in a guest's output.
enum class Controls {
  kPass,     // All pass.
  kColours,  // Only those that colour text pass; a terminal would obey the others (ColourFilter).
  kNone,     // None pass.
};

// Passes one of the guest's streams on as it comes, whole.
class StreamPrinter {
 public:
  StreamPrinter(int fd, Controls controls) : fd_(fd), controls_(controls) {}

  // False if nobody reads it any more.
  bool pass(std::string_view bytes);
  // At the end. If nothing has come from the stream yet, passes on what was captured from it: a
  // compiler's output, or our own message that the program did not start.
  void finish(const Captured& captured);

 private:
  int fd_;
  Controls controls_;
  bool passed_ = false;
  AnsiStripper stripper_;
  ColourFilter filter_;
};

// Writes all bytes to a descriptor, however long that takes. Returns false if nobody reads it any
// more. Any other failure to write standard output is remembered, as the state of std::cout, and
// run_program() reports it.
bool write_fully(int fd, std::string_view bytes);

// The closing lines for a person: how it ended, use, files, walls. With `detailed` they name each
// wall, else only those that are missing.
std::string summary(const OneShotResult& result, const std::string& out_directory, bool detailed);

// Where the time went, one line a step.
std::string timing_table(const Verdict& verdict);

// The guest's own exit status, or ours if a limit or a refusal ended it.
int exit_status(const Verdict& verdict);

}  // namespace glovebox::cli
