// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <unistd.h>

#include <string>

#include "cli/output_writer.h"

namespace glovebox::cli {
namespace {

std::string_view words_for(std::string_view phase) {
  if (phase == "packages") {
    return "installing packages …";
  }
  if (phase == "files") {
    return "copying files in …";
  }
  if (phase == "compile") {
    return "compiling …";
  }
  if (phase == "verify") {
    return "verifying …";
  }
  if (phase == "out") {
    return "copying files out …";
  }
  return {};
}

}  // namespace

void Progress::show(std::string_view phase) {
  const std::string_view words = words_for(phase);
  clear();
  if (enabled_ && !words.empty()) {
    write_fully(STDERR_FILENO, "\r\x1b[2m" + std::string(words) + "\x1b[0m");
    shown_ = true;
  }
}

void Progress::clear() {
  if (shown_) {
    write_fully(STDERR_FILENO, "\r\x1b[K");
    shown_ = false;
  }
}

}  // namespace glovebox::cli
