// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "guard/policy/analysers.h"

namespace glovebox::policy {
namespace {

struct Known {
  std::string_view language;
  std::string_view family;
  std::string_view analysed_as;
};

constexpr std::array kKnown = std::to_array<Known>({
    {"python", "python", "python"},
    {"pypy", "python", "python"},
    {"bash", "shell", "shell"},
    {"sh", "shell", "shell"},
    {"ksh", "shell", "shell"},
    {"javascript", "javascript", "javascript"},
    {"typescript", "javascript", "typescript"},
    {"typescript-checked", "javascript", "typescript"},
    {"c", "c", "c"},
    {"cpp", "c", "cpp"},
    {"csharp", "csharp", "csharp"},
    {"go", "go", "go"},
    {"java", "java", "java"},
    {"php", "php", "php"},
    {"r", "r", "r"},
    {"ruby", "ruby", "ruby"},
    {"sql", "sql", "sql"},
});

const Known& find(std::string_view language) {
  static constexpr Known kNone{};
  const auto* const known = std::ranges::find(kKnown, language, &Known::language);
  return known == kKnown.end() ? kNone : *known;
}

constexpr std::array kWithNames = std::to_array<std::string_view>(
    {"python", "javascript", "c", "csharp", "go", "java", "php", "r", "ruby", "sql"});

}  // namespace

std::string_view family_of(std::string_view language) { return find(language).family; }

std::string_view analysed_as(std::string_view language, std::string_view file) {
  const std::string_view analyser = find(language).analysed_as;
  return analyser == "typescript" && file.ends_with(".tsx") ? "tsx" : analyser;
}

std::span<const std::string_view> families_with_names() { return kWithNames; }

}  // namespace glovebox::policy
