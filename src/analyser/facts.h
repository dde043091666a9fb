// SPDX-License-Identifier: Apache-2.0
// Facts: what an analysis found in a program, as the lines that guard/policy/fact.h reads.
#pragma once

#include <cstddef>
#include <cstdint>
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

// Each fact once. All that is found beyond the bounds is one fact "unparsed", which no policy
// allows.
class Facts {
 public:
  Facts() = default;
  Facts(const Facts&) = delete;
  Facts& operator=(const Facts&) = delete;

  static constexpr std::size_t kMost = 20'000;
  static constexpr std::size_t kMostBytes = std::size_t{16} * 1024 * 1024;
  static constexpr std::size_t kMostName = 1'000;  // Longer names are cut.
  static constexpr std::size_t kMostWords = 256;

  void add(Kind kind, std::string_view name, Place place);
  // A program is started: `argv` has its name as it was written, and is not empty.
  void add_command(std::string_view name, const std::vector<std::string>& argv, Place place);

  [[nodiscard]] std::size_t size() const { return seen_.size(); }
  [[nodiscard]] bool full() const { return full_; }
  // A line for each, in the order in which they were found.
  [[nodiscard]] const std::string& lines() const { return lines_; }

 private:
  // One of `lines_`, which moves while it grows.
  struct Line {
    std::size_t begin;
    std::size_t size;
    std::size_t hash;
  };
  struct HashOfLine {
    std::size_t operator()(const Line& line) const noexcept { return line.hash; }
  };
  struct SameLine {
    const std::string* lines;
    bool operator()(const Line& one, const Line& other) const;
  };

  void begin_line(std::string_view kind, std::string_view name, Place place);
  void end_line(Place place);
  [[nodiscard]] Line last_line() const;

  std::string lines_;
  std::size_t begun_ = 0;  // Where the complete lines end, and the one being written begins.
  std::unordered_set<Line, HashOfLine, SameLine> seen_{0, HashOfLine(), SameLine{&lines_}};
  bool full_ = false;
};

}  // namespace glovebox::analyser
