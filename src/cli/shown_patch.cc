// SPDX-License-Identifier: Apache-2.0
#include "cli/shown_patch.h"

#include <algorithm>

#include "base/diff/line_diff.h"
#include "base/text.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostLine = 500;

constexpr const char* kRed = "\x1b[31m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kCyan = "\x1b[36m";
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kPlain = "\x1b[0m";

}  // namespace

std::string shown_patch(std::string_view patch, bool colour) {
  std::string shown;
  for (std::string_view line : lines_of(patch)) {
    line = line.substr(0, line.size() - (line.ends_with('\n') ? 1 : 0));
    const char* ink = "";
    if (line.starts_with("diff --git ")) {
      ink = kBold;
    } else if (line.starts_with("@@")) {
      ink = kCyan;
    } else if (line.starts_with('+')) {
      ink = kGreen;
    } else if (line.starts_with('-')) {
      ink = kRed;
    }
    std::string text;
    const bool cut = line.size() > kMostLine;
    // Tabs only move the cursor forward.
    for (std::string_view rest = line.substr(0, kMostLine); !rest.empty();) {
      const std::size_t tab = std::min(rest.find('\t'), rest.size());
      text += printable(rest.substr(0, tab));
      if (tab < rest.size()) {
        text += '\t';
      }
      rest.remove_prefix(std::min(tab + 1, rest.size()));
    }
    if (cut) {
      text += " … (" + std::to_string(line.size()) + " bytes)";
    }
    shown += colour && *ink != '\0' ? ink + text + kPlain + "\n" : text + "\n";
  }
  return shown;
}

}  // namespace glovebox::cli
