// SPDX-License-Identifier: Apache-2.0
#include "service/dockerfile/ignore.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace glovebox::dockerfile {
namespace {

constexpr std::size_t kMostRules = 1'000;
constexpr std::size_t kMaxPattern = 4'096;
constexpr std::string_view kAnyDirectories = "**";

std::vector<std::string> names_of(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (!name.empty() && name != ".") {
      names.emplace_back(name);
    }
  }
  return names;
}

// Whether the pattern matches the path or a directory above it. Takes at most as many steps as the
// product of both lengths: `reached[i]` says that the first i names of the path are matched.
bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  std::vector<bool> reached(path.size() + 1, false);
  reached[0] = true;
  for (const std::string& name : pattern) {
    std::vector<bool> next(path.size() + 1, false);
    if (name == kAnyDirectories) {
      bool any = false;
      for (std::size_t i = 0; i <= path.size(); ++i) {
        any = any || reached[i];
        next[i] = any;
      }
    } else {
      for (std::size_t i = 0; i < path.size(); ++i) {
        next[i + 1] = reached[i] && ::fnmatch(name.c_str(), path[i].c_str(), 0) == 0;
      }
    }
    reached = std::move(next);
  }
  return std::find(reached.begin() + 1, reached.end(), true) != reached.end();
}

}  // namespace

Result<IgnoreRules> IgnoreRules::parse(std::string_view text) {
  IgnoreRules rules;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with('#')) {
      continue;
    }
    const std::size_t begin = line.find_first_not_of(" \t\r");
    line = begin == std::string_view::npos ? std::string_view() : line.substr(begin);
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    Rule rule{.names = {}, .keeps = line.starts_with('!')};
    rule.names = names_of(line.substr(rule.keeps ? 1 : 0));
    if (rule.names.empty()) {
      continue;
    }
    if (line.size() > kMaxPattern || rules.rules_.size() == kMostRules) {
      return Error(ErrorCode::kInvalid,
                   ".dockerignore has a pattern of more than 4096 bytes, or "
                   "more than 1000 patterns");
    }
    rules.rules_.push_back(std::move(rule));
  }
  return rules;
}

bool IgnoreRules::ignores(std::string_view path) const {
  const std::vector<std::string> names = names_of(path);
  bool ignored = false;
  for (const Rule& rule : rules_) {
    if (rule.keeps == ignored && matches(rule.names, names)) {
      ignored = !rule.keeps;
    }
  }
  return ignored;
}

bool IgnoreRules::has_exceptions() const {
  return std::ranges::any_of(rules_, [](const Rule& rule) { return rule.keeps; });
}

}  // namespace glovebox::dockerfile
