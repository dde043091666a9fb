// SPDX-License-Identifier: Apache-2.0
// A judge: runs a program once for each case, in parallel, and compares what it prints with what
// was expected.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "service/api/judge_case.h"
#include "service/judge/comparison.h"
#include "service/judge/program.h"

namespace glovebox::judge {

using Case = JudgeCase;

// Limits a program's time as judges do: `time` is processor time, which other work on the machine
// does not change; a program that sleeps or waits has three times that plus 2 s.
void set_time(Limits& limits, std::chrono::milliseconds time);

// The words that judges use, by what went wrong first.
enum class Ruling {
  kAccepted,
  kWrongAnswer,
  kTimeLimit,
  kMemoryLimit,
  kOutputLimit,
  kRuntimeError,
  kCompileError,
  kSkipped,  // Canceled, or not wanted any more.
};
std::string_view to_string(Ruling ruling);  // "AC", "WA", …; "SKIPPED".

struct CaseReport {
  std::string name;
  Ruling ruling = Ruling::kSkipped;
  double points = 0;      // What was earned.
  double points_of = 0;   // What could be.
  std::string message{};  // Why not accepted, in a sentence; a checker's words otherwise.
  Usage usage{};          // Of the program. `wall` excludes the making of its sandbox.
  int exit_code = 0;
  std::optional<int> signal{};
};

struct Report {
  Ruling ruling = Ruling::kAccepted;  // The first of the cases', in their order, that is not AC.
  double points = 0;
  double points_of = 0;
  std::chrono::microseconds compile_time{0};
  std::string compiler_output{};  // When the ruling is CE.
  std::vector<CaseReport> cases{};
};

struct JudgeOptions {
  Comparison comparison{};
  // Decides in place of the comparison: it is run with the names of three files, the input, the
  // output and the expected output. Exit status 0 accepts, 1 and 2 reject; whatever it prints
  // becomes the message. Any other end is an Error: the checker is the judge's, not the guest's.
  const Program* checker = nullptr;
  std::size_t jobs = 1;        // Cases at once.
  Bytes output = 64_MiB;       // A program that prints more is ended.
  bool stop_at_first = false;  // Skips the cases after the first that is not accepted.
  int cancel_fd = -1;          // Readable: the cases that have not ended are skipped.
  // Called for each case when it and those before it have ended, from one thread at a time.
  std::function<void(const CaseReport&)> ended{};
};

// Fails when a sandbox or the checker failed; what the submission does is in the report.
Result<Report> run_cases(const Program& program,
                         const std::vector<Case>& cases,
                         const JudgeOptions& options);

}  // namespace glovebox::judge
