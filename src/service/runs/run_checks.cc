// SPDX-License-Identifier: Apache-2.0
#include "service/runs/run_checks.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/confined/program.h"
#include "base/text.h"

namespace glovebox {
namespace {

constexpr std::chrono::seconds kMostTime{10};
constexpr std::size_t kMostWords = 256;
constexpr std::uint64_t kMostSaid = 64UL << 10;  // By the checker, of what is wrong.

// What a command said last is usually why it failed.
std::string last_line(const std::string& text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string::npos) {
    return "";
  }
  const std::size_t before = text.find_last_of('\n', last);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return printable(to_utf8(text.substr(begin, std::min(last + 1 - begin, kMostWords))));
}

std::string ending_of(const Verdict& ended) {
  if (ended.status != Status::kError) {
    return "it ended with " + std::string(to_string(ended.status));
  }
  const std::string said = last_line(ended.err.bytes.empty() ? ended.out.bytes : ended.err.bytes);
  return "exit status " + std::to_string(ended.exit_code) + (said.empty() ? "" : ": " + said);
}

}  // namespace

CheckReport command_report(const std::string& command, const Verdict& ended) {
  const bool passed = ended.status == Status::kOk;
  return {.check = "command",
          .what = command,
          .passed = passed,
          .reason = passed ? "" : ending_of(ended)};
}

CheckReport file_report(const std::string& file, const Verdict& run) {
  const auto found = std::ranges::find(run.files, file, &FileChange::path);
  CheckReport report{.check = "file", .what = file, .passed = false, .reason = {}};
  if (found != run.files.end()) {
    report.passed = found->kind != FileChange::Kind::kDeleted;
    report.reason = report.passed ? "" : "the program deleted it";
  } else {
    report.reason = run.files_truncated ? "the program changed more files than are looked at"
                                        : "the program has not made it";
  }
  return report;
}

Result<CheckReport> output_report(const std::string& schema, const Verdict& run) {
  CheckReport report{.check = "output_schema", .what = {}, .passed = false, .reason = {}};
  if (run.out.truncated) {
    report.reason = "there is more output than is kept";
    return report;
  }
  const std::string text = std::to_string(schema.size()) + "\n" + schema + run.out.bytes;
  const auto checked = confined::run_confined({.program = "glovebox-checker",
                                               .attempt = "check the output",
                                               .breach = "the check overwhelms the checker",
                                               .text = text,
                                               .time = kMostTime,
                                               .most_written = kMostSaid});
  // What the input can cause is the input's fault.
  if (!checked && checked.error().code() != ErrorCode::kInvalid &&
      checked.error().code() != ErrorCode::kExhausted) {
    return checked.error();
  }
  report.passed = checked.has_value();
  report.reason = checked ? "" : checked.error().message();
  return report;
}

void add_checks(Verdict& verdict, std::vector<CheckReport> reports) {
  const bool all = std::ranges::all_of(reports, &CheckReport::passed);
  std::ranges::move(reports, std::back_inserter(verdict.checks));
  if (!all) {
    verdict.status = Status::kUnverified;
  }
}

}  // namespace glovebox
