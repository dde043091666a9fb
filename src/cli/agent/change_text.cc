// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/change_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/agent/line_diff.h"

namespace glovebox::cli {
namespace {

using Kind = DiffRun::Kind;

constexpr std::size_t kContext = 3;
constexpr std::size_t kMostCompared = 8UL << 20;
constexpr std::size_t kMostLine = 500;
constexpr std::size_t kLooksBinary = 8'000;

constexpr const char* kRed = "\x1b[31m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kCyan = "\x1b[36m";
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kPlain = "\x1b[0m";

// As git quotes a path in a patch.
std::string quoted(const char* side, const std::string& path) {
  const std::string whole = side + path;
  if (!whole.contains('"') && !whole.contains('\\')) {
    return whole;
  }
  std::string text = "\"";
  for (const char c : whole) {
    text += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return text + "\"";
}

// A name with a space ends where a tabulator follows it.
std::string name_line(const char* sign, const char* side, const std::string& path) {
  return sign + quoted(side, path) + (path.contains(' ') ? "\t" : "") + "\n";
}

bool is_binary(std::string_view content) {
  return content.substr(0, kLooksBinary).contains('\0') || content.size() > kMostCompared;
}

// Lines of one hunk, and where it is.
struct Hunk {
  std::size_t old_first = 0;
  std::size_t old_count = 0;
  std::size_t new_first = 0;
  std::size_t new_count = 0;
  std::string lines{};
};

void put_line(Hunk& hunk, char sign, std::string_view line) {
  hunk.lines += sign;
  hunk.lines += line;
  if (!line.ends_with('\n')) {
    hunk.lines += "\n\\ No newline at end of file\n";
  }
  hunk.old_count += sign == '+' ? 0 : 1;
  hunk.new_count += sign == '-' ? 0 : 1;
}

// "12,3"; the line before where there is none, as every patch has it.
std::string range(std::size_t first, std::size_t count) {
  return std::to_string(count == 0 ? first : first + 1) +
         (count == 1 ? "" : "," + std::to_string(count));
}

void end_hunk(std::string& patch, Hunk& hunk) {
  if (!hunk.lines.empty()) {
    patch += "@@ -" + range(hunk.old_first, hunk.old_count) + " +" +
             range(hunk.new_first, hunk.new_count) + " @@\n" + hunk.lines;
  }
  hunk = Hunk{};
}

void put_hunks(ChangeText& text, std::string_view old, std::string_view now) {
  const auto before = lines_of(old);
  const auto after = lines_of(now);
  const auto runs = diff_lines(before, after);
  Hunk hunk;
  std::size_t at_old = 0;
  std::size_t at_new = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const DiffRun& run = runs[i];
    if (run.kind == Kind::kSame) {
      const bool is_last = i + 1 == runs.size();
      const bool joins = !hunk.lines.empty() && !is_last && run.count <= 2 * kContext;
      const std::size_t behind = hunk.lines.empty() ? 0
                                 : joins            ? run.count
                                                    : std::min(run.count, kContext);
      for (std::size_t n = 0; n < behind; ++n) {
        put_line(hunk, ' ', before[run.first + n]);
      }
      if (!joins) {
        end_hunk(text.patch, hunk);
        const std::size_t ahead = is_last ? 0 : std::min(run.count, kContext);
        hunk.old_first = at_old + run.count - ahead;
        hunk.new_first = at_new + run.count - ahead;
        for (std::size_t n = run.count - ahead; n < run.count; ++n) {
          put_line(hunk, ' ', before[run.first + n]);
        }
      }
      at_old += run.count;
      at_new += run.count;
      continue;
    }
    const bool removed = run.kind == Kind::kRemoved;
    for (std::size_t n = 0; n < run.count; ++n) {
      put_line(hunk, removed ? '-' : '+', removed ? before[run.first + n] : after[run.first + n]);
    }
    (removed ? text.removed : text.added) += run.count;
    (removed ? at_old : at_new) += run.count;
  }
  end_hunk(text.patch, hunk);
}

const char* mode_of(bool is_link, bool executable) {
  return is_link ? "120000" : executable ? "100755" : "100644";
}

// One file: "" for a mode that is not there.
void put_file(ChangeText& text,
              const std::string& path,
              const std::string& old_mode,
              std::string_view old,
              const std::string& new_mode,
              std::string_view now) {
  text.patch += "diff --git " + quoted("a/", path) + " " + quoted("b/", path) + "\n";
  if (old_mode.empty()) {
    text.patch += "new file mode " + new_mode + "\n";
  } else if (new_mode.empty()) {
    text.patch += "deleted file mode " + old_mode + "\n";
  } else if (old_mode != new_mode) {
    text.patch += "old mode " + old_mode + "\nnew mode " + new_mode + "\n";
  }
  if (old == now) {
    return;
  }
  if (is_binary(old) || is_binary(now)) {
    text.binary = true;
    text.patch += "Binary files " + (old_mode.empty() ? "/dev/null" : quoted("a/", path)) +
                  " and " + (new_mode.empty() ? "/dev/null" : quoted("b/", path)) + " differ\n";
    return;
  }
  text.patch += old_mode.empty() ? "--- /dev/null\n" : name_line("--- ", "a/", path);
  text.patch += new_mode.empty() ? "+++ /dev/null\n" : name_line("+++ ", "b/", path);
  put_hunks(text, old, now);
}

}  // namespace

ChangeText change_text(const Change& change, const CheckoutFile* before, std::string_view old) {
  ChangeText text;
  const std::string old_mode =
      before == nullptr ? "" : mode_of(before->is_link, before->executable);
  const std::string new_mode =
      change.kind == Change::Kind::kDeleted ? "" : mode_of(change.is_link, change.executable);
  if (before != nullptr && !new_mode.empty() && before->is_link != change.is_link) {
    put_file(text, change.path, old_mode, old, "", "");
    put_file(text, change.path, "", "", new_mode, change.content);
  } else {
    put_file(text, change.path, old_mode, old, new_mode, change.content);
  }
  return text;
}

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
    // Tabulators move the cursor only forward.
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

std::string shown_change(const Change& change, const ChangeText& text, bool colour) {
  const bool added = change.kind == Change::Kind::kAdded;
  const bool deleted = change.kind == Change::Kind::kDeleted;
  const std::string letter = added ? "A" : deleted ? "D" : "M";
  const std::string ink = !colour ? "" : added ? kGreen : deleted ? kRed : kCyan;
  std::string line = ink + letter + (ink.empty() ? "" : kPlain) + " " + printable(change.path);
  if (change.is_link) {
    line += " -> " + printable(change.content);
  } else if (text.binary) {
    line += "  (" + std::to_string(change.content.size()) + " bytes, not shown)";
  } else {
    line += "  +" + std::to_string(text.added) + " -" + std::to_string(text.removed);
  }
  if (!change.is_link && change.executable && !deleted && text.patch.contains("mode 100755")) {
    line += "  executable";
  }
  return line;
}

}  // namespace glovebox::cli
