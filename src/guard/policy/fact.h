// SPDX-License-Identifier: Apache-2.0
// Facts: what the analysis of a program found in it, before any policy looks at it.
//
// The analysers are programs that run inside walls and read hostile code. Their output is trusted
// no more than that code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::policy {

enum class FactKind : std::uint8_t {
  kModule,     // `name` is imported or reached.
  kName,       // A function or builtin is called or mentioned.
  kAttribute,  // An attribute of an unknown object.
  kCommand,    // A program is started: `argv`.
  kHost,       // A host is named.
  kFileRead,
  kFileWrite,
  kPattern,   // Something with a name of its own: "pipe-to-shell".
  kUnparsed,  // Something that could not be analysed; `name` says why.
};

struct Fact {
  FactKind kind = FactKind::kUnparsed;
  std::string name;
  std::uint32_t line = 1;  // Both count from 1.
  std::uint32_t column = 1;
  std::vector<std::string> argv{};
};

// Reads what an analyser prints about one program. Each fact is a line: its kind, its name, its
// line and its column, and of a command the words, with a tab between them. "\t", "\n" and "\\"
// stand for a tab, a line break and a backslash. Fails with kUnavailable when it is anything else.
Result<std::vector<Fact>> parse_facts(std::string_view lines);

}  // namespace glovebox::policy
