// SPDX-License-Identifier: Apache-2.0
#include "cli/repl_piped.h"

#include <algorithm>

#include "cli/repl_commands.h"

namespace glovebox::cli {
namespace {

bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

bool is_indented(std::string_view line) { return line.starts_with(' ') || line.starts_with('\t'); }

bool is_marker(std::string_view line) {
  return line.starts_with("# %%") || line.starts_with("// %%") || line.starts_with("-- %%");
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Collects lines, and gives them away as cells without blank lines around them.
class Cells {
 public:
  void add(std::string_view line) {
    if (!current_.empty() || !is_blank_line(line)) {
      current_ += std::string(line) + "\n";
    }
  }
  void end() {
    while (current_.ends_with('\n')) {
      current_.pop_back();
    }
    if (!is_blank_line(current_)) {
      cells_.push_back(std::move(current_));
    }
    current_.clear();
  }
  [[nodiscard]] const std::string& current() const { return current_; }
  [[nodiscard]] std::vector<std::string> take() { return std::move(cells_); }

 private:
  std::string current_;
  std::vector<std::string> cells_;
};

}  // namespace

std::vector<std::string> split_cells(std::string_view text,
                                     const std::function<bool(const std::string&)>& is_complete) {
  const std::vector<std::string_view> lines = lines_of(text);
  const bool marked = std::ranges::any_of(lines, is_marker);
  Cells cells;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const std::string_view line = lines[at];
    if (marked && is_marker(line)) {
      cells.end();
      continue;
    }
    if (cells.current().empty() && names_command(line)) {
      cells.add(line);
      cells.end();
      continue;
    }
    cells.add(line);
    if (marked || !is_blank_line(line) || cells.current().empty()) {
      continue;
    }
    const auto next = std::find_if_not(lines.begin() + static_cast<std::ptrdiff_t>(at), lines.end(),
                                       is_blank_line);
    if ((next == lines.end() || !is_indented(*next)) && is_complete(cells.current())) {
      cells.end();
    }
  }
  cells.end();
  return cells.take();
}

}  // namespace glovebox::cli
