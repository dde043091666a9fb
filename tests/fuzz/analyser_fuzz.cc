// SPDX-License-Identifier: Apache-2.0
// The analyser: whatever a program or a script says, the facts about it are bounded, and are what
// the reader of facts takes.
#include "analyser/analyse.h"

#include <cstdint>
#include <string_view>

#include "analyser/facts.h"
#include "base/text.h"
#include "guard/policy/fact.h"
#include "require.h"

namespace {

// By the first byte, so that a seed names its language; most of all others are Python.
std::string_view language_of(std::uint8_t byte) {
  switch (byte) {
    case 's':
      return "shell";
    case 'c':
      return "c";
    case '+':
      return "cpp";
    case '#':
      return "csharp";
    case 'g':
      return "go";
    case 'j':
      return "java";
    case 'n':
      return "javascript";
    case 'h':
      return "php";
    case 'r':
      return "r";
    case 'b':
      return "ruby";
    case 'q':
      return "sql";
    case 't':
      return "typescript";
    default:
      return "python";
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using glovebox::analyser::Facts;
  if (size == 0) {
    return 0;
  }
  const std::string_view code(reinterpret_cast<const char*>(data) + 1, size - 1);
  // What else is not given to an analyser.
  if (!glovebox::is_utf8(code) || code.find('\0') != std::string_view::npos) {
    return 0;
  }
  Facts facts;
  glovebox::analyser::analyse(language_of(data[0]), code, facts);
  require(facts.size() <= Facts::kMost + 1);
  const auto read = glovebox::policy::parse_facts(facts.lines());
  require(read.has_value());
  require(read->size() == facts.size());
  return 0;
}
