// SPDX-License-Identifier: Apache-2.0
// Looks at programs and prints facts about each, without running any of them.
//
// Runs inside walls: what it reads is hostile, and what it prints is trusted no more than that. Its
// argument names a JSON file, a list of {"language", "code"}, with {"line", "column"} of a script
// that another program carries; for each it prints one line.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "analyser/analyse.h"
#include "analyser/facts.h"

namespace glovebox::analyser {
namespace {

using nlohmann::json;

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

int run(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const json units = json::parse(text, nullptr, false);
  if (!file.good() && !file.eof()) {
    (void)std::fprintf(stderr, "glovebox-analyser: cannot read %s\n", path);
    return 1;
  }
  if (!units.is_array()) {
    (void)std::fprintf(stderr, "glovebox-analyser: %s must be a JSON array of programs\n", path);
    return 1;
  }
  for (const json& unit : units) {
    const std::string line = facts_of(unit).json() + "\n";
    if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) {
      return 1;
    }
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace glovebox::analyser

int main(int argc, char** argv) {
  if (argc != 2) {
    (void)std::fputs("usage: glovebox-analyser UNITS.json\n", stderr);
    return 2;
  }
  return glovebox::analyser::run(argv[1]);
}
