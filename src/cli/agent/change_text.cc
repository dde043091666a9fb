// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/change_text.h"

#include <algorithm>
#include <array>

#include "base/diff/line_diff.h"
#include "base/diff/unified_diff.h"
#include "base/text.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostCompared = 8UL << 20;

constexpr const char* kRed = "\x1b[31m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kCyan = "\x1b[36m";
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

// A tab marks the end of a name that has a space.
std::string name_line(const char* sign, const char* side, const std::string& path) {
  return sign + quoted(side, path) + (path.contains(' ') ? "\t" : "") + "\n";
}

bool is_binary(std::string_view content) {
  return looks_binary(content) || content.size() > kMostCompared;
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
  UnifiedDiff diff = unified_diff(old, now);
  text.patch += diff.hunks;
  text.added += diff.added;
  text.removed += diff.removed;
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
