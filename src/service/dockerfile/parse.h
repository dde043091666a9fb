// SPDX-License-Identifier: Apache-2.0
// Reads Dockerfiles. The text may come from anybody: everything is bounded, and nothing is
// executed.
//
// What an instruction means, and what its variables stand for, is decided later: words are kept as
// they were written, with their quotes (expand.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace glovebox::dockerfile {

struct Instruction {
  enum class Kind {
    kFrom,
    kArg,
    kRun,
    kCopy,
    kAdd,
    kEnv,
    kWorkdir,
    kUser,
    kShell,
    kCmd,
    kEntrypoint,
    kLabel,
    kExpose,
    kVolume,
    kStopSignal,
  };
  Kind kind = Kind::kRun;
  std::size_t line = 0;  // The first is 1.
  std::string title{};   // The instruction on one line, for people.
  // "--name=value", in front of the rest.
  std::vector<std::pair<std::string, std::string>> flags{};
  // The JSON form: `words` are its strings.
  bool exec = false;
  std::vector<std::string> words{};
  std::string text{};  // Of RUN, CMD and ENTRYPOINT in the shell form: what the shell runs.
  // COPY and ADD: the content of a file, in place of a source. Variables are expanded in it unless
  // its delimiter was quoted.
  struct Inline {
    std::string name;
    std::string content;
    bool expanded = true;
  };
  std::optional<Inline> inline_file{};
};

struct Stage {
  Instruction from;
  std::string image;  // As written.
  std::string name;   // In lower case; empty: none.
  std::vector<Instruction> steps;
};

struct Dockerfile {
  std::vector<Instruction> args;  // ARG instructions before the first FROM.
  std::vector<Stage> stages;      // At least one.
};

// kInvalid and kUnsupported errors name the line: "line 3: …".
Result<Dockerfile> parse(std::string_view text);

// "line 3: WHY"
Error at_line(std::size_t line, ErrorCode code, const std::string& why, std::string hint = {});

}  // namespace glovebox::dockerfile
