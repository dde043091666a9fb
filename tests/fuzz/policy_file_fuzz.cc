// SPDX-License-Identifier: Apache-2.0
// Policies, their examples, and what an analyser prints: any text is either understood or refused
// with its place, and what a policy says of any program is computed without harm.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guard/policy/assessment.h"
#include "guard/policy/fact.h"
#include "guard/policy/policy.h"
#include "require.h"

namespace {

using namespace glovebox;
using namespace glovebox::policy;

void require_place(const Error& error) {
  require(error.code() == ErrorCode::kInvalid);
  require(error.message().starts_with("any.toml:"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto examples = parse_examples(text, "any.toml"); !examples) {
    require_place(examples.error());
  }
  Program program{.language = "python", .family = "python", .facts = {}};
  for (const FactKind kind : {FactKind::kModule, FactKind::kName, FactKind::kHost,
                              FactKind::kFileRead, FactKind::kPattern}) {
    program.facts.push_back({.kind = kind, .name = std::string(text.substr(0, 64))});
  }
  program.facts.push_back({.kind = FactKind::kCommand,
                           .name = "rm",
                           .argv = {"rm", std::string(text.substr(0, 16)), "-rf", "//"}});
  if (auto facts = parse_facts(text); facts) {
    program.facts = *std::move(facts);
  }
  const auto policy = parse_policy(text, "any.toml");
  if (!policy) {
    require_place(policy.error());
    return 0;
  }
  const Assessment one = assess({*policy}, program);
  require(one.decision != Action::kNote);
  // The same policy twice decides the same.
  require(assess({*policy, *policy}, program).decision == one.decision);
  return 0;
}
