// SPDX-License-Identifier: Apache-2.0
#include "analyser/analyse.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analyser/python.h"
#include "analyser/shell.h"
#include "analyser/sql.h"
#include "analyser/syntax/dialect.h"

namespace glovebox::analyser {
namespace {

struct Known {
  std::string_view language;
  void (*analyse)(std::string_view code, std::optional<Inside> inside, Facts& facts);
};

constexpr std::array kKnown = std::to_array<Known>({
    {"python", analyse_python},
    {"shell", analyse_shell},
    {"sql", analyse_sql},
});

}  // namespace

void analyse(std::string_view language, std::string_view code, Facts& facts) {
  const auto* const known = std::ranges::find(kKnown, language, &Known::language);
  if (known != kKnown.end()) {
    known->analyse(code, std::nullopt, facts);
  } else if (const syntax::Dialect* const dialect = syntax::find_dialect(language)) {
    syntax::analyse(*dialect, code, std::nullopt, facts);
  } else {
    facts.add(Kind::kUnparsed, "programs in this language cannot be analysed", {});
  }
}

}  // namespace glovebox::analyser
