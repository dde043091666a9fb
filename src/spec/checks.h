// SPDX-License-Identifier: Apache-2.0
// Checks: what must hold for a run that ended with `ok` before it counts as ok.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace glovebox {

struct Checks {
  static constexpr std::size_t kMost = 32;  // Of each kind, in one request or policy.
  static constexpr std::size_t kMaxText = 64 * 1024;

  std::vector<std::string> commands{};  // Shell commands in the same sandbox that exit with 0.
  std::vector<std::string> files{};     // Below the workspace; the run made or changed each.
  std::vector<std::string> schemas{};   // JSON Schemas that standard output conforms to.
  std::vector<std::string> reviews{};   // What a second model must find true of it.

  [[nodiscard]] bool empty() const {
    return commands.empty() && files.empty() && schemas.empty() && reviews.empty();
  }
  void add(const Checks& other) {
    commands.insert(commands.end(), other.commands.begin(), other.commands.end());
    files.insert(files.end(), other.files.begin(), other.files.end());
    schemas.insert(schemas.end(), other.schemas.begin(), other.schemas.end());
    reviews.insert(reviews.end(), other.reviews.begin(), other.reviews.end());
  }
  friend bool operator==(const Checks&, const Checks&) = default;
};

// What became of one check.
struct CheckReport {
  std::string check;  // "command", "file", "output_schema" or "review".
  std::string what;   // The command, the file, the criteria; empty for a schema.
  bool passed = false;
  std::string reason;  // Why it did not pass, for people.
  friend bool operator==(const CheckReport&, const CheckReport&) = default;
};

}  // namespace glovebox
