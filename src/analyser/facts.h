// SPDX-License-Identifier: Apache-2.0
// Facts: what an analysis found in a program, as the line that guard/policy/fact.h reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace glovebox::analyser {

// A place in the outermost text. Both count from 1; columns are characters, not bytes.
struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  friend bool operator==(const Place&, const Place&) = default;
};

enum class Kind : std::uint8_t {
  kModule,     // A module is imported or reached.
  kName,       // A function, a class or a variable is used.
  kAttribute,  // An attribute of something unknown.
  kHost,
  kFileRead,
  kFileWrite,
  kPattern,   // Something with a name of its own: "pipe-to-shell".
  kUnparsed,  // What could not be followed; the name says why.
};

// Each fact once. What is found beyond the bounds is one fact "unparsed", which no policy allows.
class Facts {
 public:
  static constexpr std::size_t kMost = 20'000;
  static constexpr std::size_t kMostBytes = std::size_t{16} * 1024 * 1024;
  static constexpr std::size_t kMostName = 1'000;  // Longer names are cut.
  static constexpr std::size_t kMostWords = 256;

  void add(Kind kind, std::string_view name, Place place);
  // A program is started: `argv` has its name as it was written, and is not empty.
  void add_command(std::string_view name, const std::vector<std::string>& argv, Place place);

  [[nodiscard]] std::size_t size() const { return found_.size(); }
  [[nodiscard]] bool full() const { return full_; }
  // A JSON array without line breaks.
  [[nodiscard]] std::string json() const;

 private:
  void take(std::string object, Place place);

  std::deque<std::string> found_;  // As JSON.
  std::unordered_set<std::string_view> seen_;
  std::size_t bytes_ = 0;
  bool full_ = false;
};

}  // namespace glovebox::analyser
