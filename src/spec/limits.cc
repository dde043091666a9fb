// SPDX-License-Identifier: Apache-2.0
#include "spec/limits.h"

#include <algorithm>
#include <optional>
#include <string>

#include "spec/limit_fields.h"

namespace glovebox {

Result<void> validate(const Limits& limits, std::string_view prefix) {
  std::optional<Error> wrong;
  each_limit([&](const auto& field) {
    const auto& value = limits.*field.limit;
    // Not a number is in no range.
    if (wrong || (value >= field.least && value <= field.most)) {
      return;
    }
    std::string name = field.name;
    std::ranges::replace(name, '_', '-');
    wrong = Error(ErrorCode::kInvalid,
                  "limit " + std::string(prefix) + name + " is out of range: " + limit_text(value),
                  std::string("use ") + field.range);
  });
  return wrong ? Result<void>(*wrong) : Result<void>();
}

}  // namespace glovebox
