// SPDX-License-Identifier: Apache-2.0
// Table: columns for people.
#pragma once

#include <string>
#include <vector>

namespace glovebox::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> heads) : rows_{std::move(heads)} {}

  // Values may be hostile: control characters are escaped, and long values are cut.
  void add(std::vector<std::string> row);
  // Every column as wide as its widest value.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "3m", "2h", "5d": a number of seconds in few characters. Negative ones are "0s".
[[nodiscard]] std::string short_time(long long seconds);

// Seconds since 1970 of "2026-11-21T12:00:00.000Z" (RFC 3339, in UTC); 0 for anything else.
[[nodiscard]] long long seconds_of(const std::string& time);

}  // namespace glovebox::cli
