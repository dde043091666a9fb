// SPDX-License-Identifier: Apache-2.0
// Looks at programs and prints facts about each, without running any of them.
//
// Runs inside walls: what it reads is hostile, and what it prints is trusted no more than that. Its
// argument names a file of programs, each "LANGUAGE BYTES\n" and that many bytes of text. For each
// it prints the lines of its facts and an empty line, and at the end it prints "end". With "-" it
// reads the programs from its standard input, as a confined program: it first confines itself.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "analyser/analyse.h"
#include "analyser/facts.h"
#include "analyser/warm_up.h"
#include "base/bytes.h"
#include "base/confined/confine.h"
#include "base/result.h"
#include "base/sys/read_all.h"
#include "base/sys/write_all.h"

namespace glovebox::analyser {
namespace {

constexpr auto kFilter = confined::allow_only(
    confined::join(std::array<std::uint32_t, 2>{SYS_read, SYS_write}, confined::kMemoryAndEnd));
// For what is analysed in a moment: what needs more gets a sandbox.
constexpr confined::Bounds kBounds{.memory = 256ULL << 20, .cpu_seconds = 1, .file_size = 0};
constexpr Bytes kMostInput = 256_MiB;

struct Unit {
  std::string_view language;
  std::string_view code;
};

// Takes the first unit off the text; nothing if the text does not begin with one.
std::optional<Unit> take_unit(std::string_view& units) {
  const std::string_view line = units.substr(0, units.find('\n'));
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || line.size() == units.size()) {
    return std::nullopt;
  }
  units.remove_prefix(line.size() + 1);
  std::size_t size = 0;
  const auto [end, problem] =
      std::from_chars(line.data() + space + 1, line.data() + line.size(), size);
  if (problem != std::errc() || end != line.data() + line.size() || size > units.size()) {
    return std::nullopt;
  }
  const Unit unit{.language = line.substr(0, space), .code = units.substr(0, size)};
  units.remove_prefix(size);
  return unit;
}

void print_facts(const Unit& unit, std::string& printed) {
  Facts facts;
  try {
    analyse(unit.language, unit.code, facts);
  } catch (const std::exception&) {
    // Whatever a hostile text leads to is a finding, never a pass.
    facts.add(Kind::kUnparsed, "the analysis failed", {});
  }
  printed += facts.lines();
  printed += '\n';
}

Result<void> run(const std::string& path) {
  int file = STDIN_FILENO;
  if (path == "-") {
    warm_up();
    GB_TRY(confined::confine_self(kBounds, confined::Root::kKeep, kFilter));
  } else if (file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC); file < 0) {
    return Error::from_errno("open " + path);
  }
  const std::string text = GB_TRY(sys::read_all(file, kMostInput, "the programs"));
  std::string printed;
  for (std::string_view rest = text; !rest.empty();) {
    const std::optional<Unit> unit = take_unit(rest);
    if (!unit) {
      return Error(ErrorCode::kInvalid, path + " must be a list of programs");
    }
    print_facts(*unit, printed);
  }
  printed += "end\n";
  if (!sys::write_all(STDOUT_FILENO, printed)) {
    return Error::from_errno("write the facts");
  }
  return {};
}

}  // namespace
}  // namespace glovebox::analyser

int main(int argc, char** argv) {
  using glovebox::Error;
  using glovebox::Result;
  // The process is short-lived: memory that it gave back would only be asked for again.
  (void)::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  (void)::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  (void)::mallopt(M_TOP_PAD, 1 << 20);
  const auto done = argc == 2 ? glovebox::analyser::run(argv[1])
                              : Result<void>(Error(glovebox::ErrorCode::kInvalid,
                                                   "usage: glovebox-analyser UNITS, or -"));
  // An ordinary exit makes system calls that the filter does not allow.
  ::_exit(glovebox::confined::exit_status_of(done));
}
