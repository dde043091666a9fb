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
  glovebox::analyser::analyse(data[0] == 's' ? "shell" : "python", code, {}, facts);
  require(facts.size() <= Facts::kMost + 1);
  const auto read = glovebox::policy::parse_facts(facts.json());
  require(read.has_value());
  require(read->size() == facts.size());
  return 0;
}
