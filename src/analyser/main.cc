// SPDX-License-Identifier: Apache-2.0
// Looks at programs and prints facts about each, without running any of them.
//
// Runs inside walls: what it reads is hostile, and what it prints is trusted no more than that. Its
// argument names a JSON file, a list of {"language", "code"}, with {"line", "column"} of a script
// that another program carries; for each it prints one line. With "-" it reads that from its
// standard input, as a confined program: it puts up walls of its own before.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "analyser/analyse.h"
#include "analyser/facts.h"
#include "base/bytes.h"
#include "base/confined/confine.h"
#include "base/result.h"
#include "base/sys/read_all.h"
#include "base/sys/write_all.h"

namespace glovebox::analyser {
namespace {

using nlohmann::json;

constexpr auto kFilter = confined::allow_only(
    confined::join(std::array<std::uint32_t, 2>{SYS_read, SYS_write}, confined::kMemoryAndEnd));
// For what is analysed in a moment: what needs more gets a sandbox.
constexpr confined::Bounds kBounds{.memory = 256ULL << 20, .cpu_seconds = 1, .file_size = 0};
constexpr Bytes kMostInput = 256_MiB;

Facts facts_of(const json& unit) {
  Facts facts;
  try {
    std::optional<Place> at;
    if (unit.contains("line")) {
      at = {.line = unit.at("line"), .column = unit.at("column")};
    }
    analyse(unit.at("language").get_ref<const std::string&>(),
            unit.at("code").get_ref<const std::string&>(), at, facts);
  } catch (const std::exception&) {
    // Whatever a hostile text leads to is a finding, never a pass.
    facts.add(Kind::kUnparsed, "the analysis failed", {});
  }
  return facts;
}

Result<void> run(const std::string& path) {
  int file = STDIN_FILENO;
  if (path == "-") {
    GB_TRY(confined::confine_self(kBounds, confined::Root::kKeep, kFilter));
  } else if (file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC); file < 0) {
    return Error::from_errno("open " + path);
  }
  const json units =
      json::parse(GB_TRY(sys::read_all(file, kMostInput, "the programs")), nullptr, false);
  if (!units.is_array()) {
    return Error(ErrorCode::kInvalid, path + " must be a JSON array of programs");
  }
  std::string lines;
  for (const json& unit : units) {
    lines += facts_of(unit).json() + "\n";
  }
  if (!sys::write_all(STDOUT_FILENO, lines)) {
    return Error::from_errno("write the facts");
  }
  return {};
}

}  // namespace
}  // namespace glovebox::analyser

int main(int argc, char** argv) {
  using glovebox::Error;
  using glovebox::Result;
  // A short life, in which memory that was given back would only have to be asked for again.
  (void)::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  (void)::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  (void)::mallopt(M_TOP_PAD, 1 << 20);
  const auto done = argc == 2 ? glovebox::analyser::run(argv[1])
                              : Result<void>(Error(glovebox::ErrorCode::kInvalid,
                                                   "usage: glovebox-analyser UNITS.json, or -"));
  // What goes on at an ordinary exit takes calls that the filter does not know.
  ::_exit(glovebox::confined::exit_status_of(done));
}
