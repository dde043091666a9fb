// SPDX-License-Identifier: Apache-2.0
// The results of operations on constants, as CPython computes them. Results are bounded; what is
// not known for certain has no result, because a wrong one would hide what runs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analyser/python_tree.h"

namespace glovebox::analyser {

class Constants {
 public:
  static constexpr std::size_t kMostText = std::size_t{256} * 1024;
  static constexpr std::size_t kMostItems = 65'536;

  explicit Constants(Arena& arena) : arena_(arena) {}

  using Found = std::optional<Value>;

  // "left op right"; `op` as in PythonNode.
  Found binary(char op, const Value& left, const Value& right);
  // "-value"
  static Found negative(const Value& value);
  // str(value)
  static std::optional<std::string> written(const Value& value);
  // "sequence[index]"
  Found item(const Value& sequence, const Value& index);
  // "sequence[lower:upper:step]"; null for a part that is absent.
  Found slice(const Value& sequence, const Value* lower, const Value* upper, const Value* step);
  // The items of a list, a text or bytes, if there are at most `most`.
  std::optional<std::span<const Value* const>> items(const Value& value, std::size_t most);
  // "text.name(arguments)"
  Found method(const Value& value, std::string_view name, std::span<const Value* const> arguments);
  // A call of a function by its full name.
  Found call(std::string_view function, std::span<const Value* const> arguments);
  // What chr() makes of each item.
  Found characters(const Value& value);

  static bool equal(const Value& one, const Value& other);

  Found text(std::string_view made);
  Found bytes(std::string_view made);
  Found list(std::span<const Value* const> items);

 private:
  Found percent(std::string_view format, const Value& right);
  Found formatted(std::string_view format, std::span<const Value* const> arguments);
  Found replaced(const Value& value, std::span<const Value* const> arguments);
  Found stripped(const Value& value,
                 std::string_view name,
                 std::span<const Value* const> arguments);
  Found split(const Value& value, std::span<const Value* const> arguments);
  Found joined(const Value& separator, const Value& parts);
  Found cased(const Value& value, std::string_view name);
  Found encoded(const Value& value, std::string_view name, std::span<const Value* const> arguments);
  // A text or bytes, whichever `like` is.
  Found same(const Value& like, std::string_view made);

  Arena& arena_;
};

}  // namespace glovebox::analyser
