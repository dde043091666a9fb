// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "analyser/lines.h"
#include "analyser/syntax/dialect.h"
#include "analyser/syntax/program.h"
#include "analyser/syntax/tree.h"

namespace glovebox::analyser::syntax {

const Dialect* find_dialect(std::string_view language) {
  constexpr std::array kDialects = {&kC,   &kCpp, &kCSharp, &kGo,  &kJava,      &kJavaScript,
                                    &kPhp, &kR,   &kRuby,   &kTsx, &kTypeScript};
  const auto* const found = std::ranges::find(
      kDialects, language, [](const Dialect* dialect) { return dialect->language; });
  return found == kDialects.end() ? nullptr : *found;
}

void analyse(const Dialect& dialect,
             std::string_view written,
             std::optional<Inside> inside,
             Facts& facts) {
  const std::string read = dialect.prepared == nullptr ? std::string() : dialect.prepared(written);
  const std::string_view code = dialect.prepared == nullptr ? written : read;
  const Lines lines(code, inside);
  const auto fail = [&](std::string_view why, std::uint32_t at) {
    facts.add(Kind::kUnparsed,
              std::string(dialect.title) + " cannot be parsed: " + std::string(why),
              lines.place(at));
  };
  if (inside && inside->depth > kMostInside) {
    return fail("code is nested too deeply to follow", 0);
  }
  const auto tree = Tree::parse(dialect.grammar(), code);
  if (!tree) {
    return fail(tree.error().message(), 0);
  }
  if (const Node error = tree->first_error()) {
    fail("there is a syntax error", error.begin());
  }
  dialect.make({.dialect = dialect, .tree = *tree, .lines = lines, .inside = inside}, facts)
      ->report();
}

}  // namespace glovebox::analyser::syntax
