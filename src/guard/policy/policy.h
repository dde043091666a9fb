// SPDX-License-Identifier: Apache-2.0
// Policy: what a program may contain before it is run, as an operator wrote it down.
//
// A policy is a TOML file; docs/policy.md describes its keys. It is compared with facts about a
// program (guard/policy/fact.h), which an analysis inside walls found; assess() does that. A policy
// is advice before the run: the walls hold whatever it says.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "guard/policy/action.h"
#include "guard/policy/tool_rules.h"
#include "spec/checks.h"

namespace glovebox::policy {

inline constexpr std::size_t kMaxPolicyFile = 256 * 1024;

struct Entry {
  std::string pattern;
  Action action;
};

// Entries in any order. What none of them matches gets `otherwise`.
struct RuleList {
  std::vector<Entry> entries;
  Action otherwise = Action::kAllow;
};

// What a list is compared with.
enum class Subject : std::uint8_t {
  kModules,     // "os.path": dotted names; an entry covers what lies below it.
  kCalls,       // "os.system", "eval": functions and builtins, called or only mentioned.
  kAttributes,  // "__subclasses__": the name of an attribute of anything.
  kCommands,    // "rm -r /": a program and arguments.
  kHosts,       // "*.example.com".
  kFilesRead,   // "/etc/**".
  kFilesWrite,
  kPatterns,   // "pipe-to-shell": what the analysis recognizes as a whole.
  kLanguages,  // "python".
};

struct Policy {
  std::string origin;       // The file, or the name of a shipped policy; for messages.
  std::string description;  // One line.
  std::string min_tier;     // The least isolation tier that programs get; empty: any.
  // For what could not be analysed, and for languages without an analysis that no entry allows.
  Action unparsed = Action::kAsk;
  bool says_unparsed = false;  // The file sets `unparsed`.
  // Whether programs that were written in the sandbox can be started; nothing: only if the policy
  // refuses no program.
  std::optional<Action> written{};
  // Before a person is asked, the code is executed as a dry run, if possible.
  bool dry_run = false;
  // Sums of risk at and above which the decision is at least `ask` or `refuse`; 0: never.
  std::uint32_t ask_at = 0;
  std::uint32_t refuse_at = 0;
  // Lists that apply to one family of languages: "python", "c" (guard/policy/analysers.h).
  std::map<std::string, std::map<Subject, RuleList>, std::less<>> by_language;
  // Lists that apply to all languages.
  std::map<Subject, RuleList> lists;
  // For calls of tools, judged when they are made (call_assessment.h); nothing: none is judged.
  std::optional<ToolRules> tools{};

  // What a run that ended with `ok` must also satisfy to count as `ok`.
  Checks checks{};

  // Whether the policy says anything about what is in a program. A policy that only demands a tier
  // or checks, or says what may be started or which tools may be called, needs no analysis.
  [[nodiscard]] bool examines() const;

  // The list for a subject; an empty one if the policy has none.
  [[nodiscard]] const RuleList& list(Subject subject, std::string_view family) const;
};

// Reads the text of a policy file. `origin` only names it in messages. Any text is safe to pass.
// Fails with kInvalid and "origin:line:column: what is wrong"; the hint says how to fix it.
Result<Policy> parse_policy(std::string_view text, std::string_view origin);

// Names of the policies that come with the program, sorted.
std::vector<std::string_view> shipped_policies();
// The text of one of them, or of its examples; empty if there is none with that name.
std::string_view shipped_policy(std::string_view name);
std::string_view shipped_examples(std::string_view name);

// An example for a policy: code or a call of a tool, and what the policy has to decide about it.
struct Example {
  std::string name;
  std::string language;
  std::string code;
  std::string tool;                  // If it is a call; there is no code then.
  std::string arguments = "{}";      // JSON text.
  Action expected = Action::kAllow;  // kAllow, kAsk or kRefuse.
  std::string rule;                  // A rule that one of the findings must have; may be empty.
  std::string file;                  // Its file's name, if that matters: "page.tsx".
};

// Reads a table of examples, as parse_policy() reads a policy.
Result<std::vector<Example>> parse_examples(std::string_view text, std::string_view origin);

}  // namespace glovebox::policy
