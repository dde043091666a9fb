// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/match.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/glob.h"

namespace glovebox::policy {
namespace {

// How much a pattern pins down: its characters other than wildcards.
std::size_t weight(std::string_view pattern) {
  return static_cast<std::size_t>(
      std::ranges::count_if(pattern, [](char c) { return c != '*' && c != '?'; }));
}

template <typename Matches>
Match most_specific(const RuleList& list, Matches matches) {
  Match best{.action = list.otherwise, .entry = nullptr};
  for (const Entry& entry : list.entries) {
    if (!matches(std::string_view(entry.pattern))) {
      continue;
    }
    const std::pair mine(weight(entry.pattern), entry.action);
    if (best.entry == nullptr ||
        mine > std::pair(weight(best.entry->pattern), best.entry->action)) {
      best = {.action = entry.action, .entry = &entry};
    }
  }
  return best;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) {
      words.push_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string_view base_name(std::string_view program) {
  return program.substr(program.rfind('/') + 1);
}

// Long options of common programs, and the short ones that mean the same.
constexpr std::array<std::pair<std::string_view, char>, 4> kLongOptions = {
    {{"--recursive", 'r'}, {"--force", 'f'}, {"--delete", 'd'}, {"--verbose", 'v'}}};

char short_option(std::string_view word) {
  const auto* const known =
      std::ranges::find(kLongOptions, word, &std::pair<std::string_view, char>::first);
  return known == kLongOptions.end() ? '\0' : known->second;
}

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

// Whether `argv` has the option letter. -R means the same as -r to the programs that have both.
bool has_letter(const std::vector<std::string>& argv, char letter) {
  return std::ranges::any_of(argv, [letter](const std::string& word) {
    if (!is_option(word)) {
      return false;
    }
    if (word.starts_with("--")) {
      return short_option(word) == letter;
    }
    return std::ranges::any_of(
        word.substr(1), [letter](char c) { return c == letter || (c == 'R' && letter == 'r'); });
  });
}

bool has_option(const std::vector<std::string>& argv, std::string_view option) {
  if (option.starts_with("--") && short_option(option) == '\0') {
    return std::ranges::any_of(argv, [option](const std::string& word) {
      return word == option || word.starts_with(std::string(option) + "=");
    });
  }
  if (option.starts_with("--")) {
    return has_letter(argv, short_option(option));
  }
  return std::ranges::find(argv, option) != argv.end() ||
         std::ranges::all_of(option.substr(1), [&argv](char letter) {
           return has_letter(argv, letter == 'R' ? 'r' : letter);
         });
}

bool has_operand(const std::vector<std::string>& argv, std::string_view wanted) {
  return std::any_of(argv.begin() + 1, argv.end(), [wanted](const std::string& word) {
    if (matches_glob(wanted, word)) {
      return true;
    }
    if (!word.starts_with('/')) {
      return false;
    }
    const std::string path = normal_path(word);
    // Everything in a directory is as good as the directory.
    return matches_glob(wanted, path) ||
           (path.ends_with("/*") &&
            matches_glob(wanted, path.size() == 2 ? "/" : path.substr(0, path.size() - 2)));
  });
}

bool is_command(std::string_view pattern, const std::vector<std::string>& argv) {
  const std::vector<std::string_view> words = words_of(pattern);
  if (words.empty() || argv.empty() || !matches_glob(words.front(), base_name(argv.front()))) {
    return false;
  }
  return std::all_of(words.begin() + 1, words.end(), [&argv](std::string_view word) {
    return is_option(word) ? has_option(argv, word) : has_operand(argv, word);
  });
}

}  // namespace

std::string normal_path(std::string_view path) {
  const bool absolute = path.starts_with('/');
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (part == "..") {
      if (!absolute) {
        parts.push_back(part);
      }
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  std::string normal = absolute ? "/" : "";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    normal += i == 0 ? "" : "/";
    normal += parts[i];
  }
  return normal.empty() ? "." : normal;
}

Match match_name(const RuleList& list, std::string_view name) {
  return most_specific(list, [name](std::string_view pattern) {
    if (pattern.find('*') != std::string_view::npos) {
      return matches_glob(pattern, name);
    }
    return name.starts_with(pattern) &&
           (name.size() == pattern.size() || name[pattern.size()] == '.');
  });
}

Match match_host(const RuleList& list, std::string_view host) {
  while (host.ends_with('.')) {
    host.remove_suffix(1);
  }
  return most_specific(list,
                       [host](std::string_view pattern) { return matches_glob(pattern, host); });
}

Match match_path(const RuleList& list, std::string_view path) {
  // A guest starts in its workspace, so a path with its absolute name means the same as without.
  constexpr std::string_view kWorkspace = "/workspace/";
  std::string normal = normal_path(path);
  if (normal.starts_with(kWorkspace)) {
    normal.erase(0, kWorkspace.size());
  }
  return most_specific(list, [&normal](std::string_view pattern) {
    return matches_glob(pattern, normal) ||
           (pattern.ends_with("/**") && normal == pattern.substr(0, pattern.size() - 3));
  });
}

Match match_command(const RuleList& list, const std::vector<std::string>& argv) {
  Match best{.action = list.otherwise, .entry = nullptr};
  for (const Entry& entry : list.entries) {
    if (is_command(entry.pattern, argv) && (best.entry == nullptr || entry.action > best.action)) {
      best = {.action = entry.action, .entry = &entry};
    }
  }
  return best;
}

}  // namespace glovebox::policy
