// SPDX-License-Identifier: Apache-2.0
#include "service/runs/analysis.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "guard/policy/analysers.h"
#include "service/runs/analyser_program.h"
#include "service/runs/one_shot.h"

namespace glovebox {
namespace {

using policy::Fact;
using policy::FactKind;
using policy::Program;

constexpr std::size_t kMaxCode = 1024 * 1024;
// Of confined processes: at once, in bytes of what they read and print, and in time.
constexpr std::ptrdiff_t kMostConfined = 4;
constexpr std::size_t kMostConfinedCode = 256UL * 1024;
constexpr std::uint64_t kMostFacts = 4UL << 20;
constexpr std::chrono::seconds kConfinedTime{3};
// Nothing comes after this; no fact has such a line.
constexpr std::string_view kLastLine = "\nend\n";

// A text for the analyser, and the program that its facts belong to.
struct Job {
  Program* program;
  std::string_view language;
  std::string_view code;
};

Fact unparsed(std::string why) { return {.kind = FactKind::kUnparsed, .name = std::move(why)}; }

std::string units_of(const std::vector<Job>& jobs) {
  std::string units;
  for (const Job& job : jobs) {
    units += job.language;
    units += ' ';
    units += std::to_string(job.code.size());
    units += '\n';
    units += job.code;
  }
  return units;
}

// What is said about each program. Nothing if it is not the whole output of an analyser.
std::optional<std::vector<std::string_view>> facts_by_program(std::string_view printed) {
  if (!printed.ends_with(kLastLine)) {
    return std::nullopt;
  }
  printed.remove_suffix(kLastLine.size() - 1);
  std::vector<std::string_view> all;
  while (!printed.empty()) {
    const std::size_t end = printed.starts_with('\n') ? 0 : printed.find("\n\n") + 1;
    if (end >= printed.size()) {
      return std::nullopt;
    }
    all.push_back(printed.substr(0, end));
    printed.remove_prefix(end + 1);
  }
  return all;
}

// Why there are no facts, or nothing.
std::optional<std::string> take_facts(const std::vector<Job>& jobs, const AnalyserEnd& end) {
  if (!end.missing.empty()) {
    return end.missing;
  }
  if (end.status == to_string(Status::kTimeout)) {
    return "the analysis takes too long";
  }
  if (end.status == to_string(Status::kOutOfMemory)) {
    return "the analysis needs too much memory";
  }
  const auto printed = facts_by_program(end.printed);
  if (end.status != to_string(Status::kOk) || !printed || printed->size() != jobs.size()) {
    return "the analysis failed";
  }
  std::vector<std::vector<Fact>> all;
  for (const std::string_view lines : *printed) {
    auto facts = policy::parse_facts(lines);
    if (!facts) {
      return facts.error().message();
    }
    all.push_back(*std::move(facts));
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::ranges::move(all[i], std::back_inserter(jobs[i].program->facts));
  }
  return std::nullopt;
}

Result<void> run_jobs(const std::vector<Job>& jobs, const RunAnalyser& run) {
  if (jobs.empty()) {
    return {};
  }
  const AnalyserEnd end = GB_TRY(run(units_of(jobs)));
  const std::optional<std::string> failure = take_facts(jobs, end);
  if (failure && (jobs.size() == 1 || !end.missing.empty())) {
    for (const Job& job : jobs) {
      job.program->facts.push_back(unparsed(*failure));
    }
  } else if (failure) {
    // One of them is to blame. The others still get their facts.
    for (const Job& job : jobs) {
      GB_TRY(run_jobs({job}, run));
    }
  }
  return {};
}

}  // namespace

RunAnalyser in_own_sandbox(TierWish tier) {
  return [tier = std::move(tier)](const std::string& units) -> Result<AnalyserEnd> {
    const auto program = analyser_path();
    if (!program) {
      return AnalyserEnd{.missing = "the analysis fails: " + program.error().message()};
    }
    OneShot request;
    request.language.id = "analysis";
    request.language.title = "the analyser";
    request.language.file_name = kAnalysedFile;
    request.language.run = {*program, "{file}"};
    request.language.mounts = {GB_TRY(analyser_mount())};
    request.code = units;
    request.limits.wall = kAnalysisTime;
    request.limits.memory = kAnalysisMemory;
    request.limits.pids = kAnalysisProcesses;
    request.limits.disk = kAnalysisDisk;
    request.limits.output = kAnalysisOutput;
    request.tier = tier;
    OneShotResult result = GB_TRY(run_once(request, {}));
    return AnalyserEnd{.status = to_string(result.verdict.status),
                       .printed = std::move(result.verdict.out.bytes)};
  };
}

RunAnalyser confined_or(WarmAnalyser& analyser, RunAnalyser otherwise) {
  return [&analyser,
          otherwise = std::move(otherwise)](const std::string& units) -> Result<AnalyserEnd> {
    // For all callers together: these are counted against no tenant.
    static std::counting_semaphore<kMostConfined> places(kMostConfined);
    if (units.size() > kMostConfinedCode || !places.try_acquire()) {
      return otherwise(units);
    }
    AnalyserEnd end{.status = to_string(Status::kOk)};
    const auto done = analyser.run({.attempt = "analyse the program",
                                    .breach = "the analysis failed",
                                    .text = units,
                                    .time = kConfinedTime,
                                    .most_written = kMostFacts,
                                    .output =
                                        [&](std::string_view piece) {
                                          end.printed += piece;
                                          return Result<void>();
                                        },
                                    .finished = [&] { return end.printed.ends_with(kLastLine); }});
    places.release();
    // Whatever went wrong, a sandbox of the tenant's has more time and memory for it.
    return done ? Result<AnalyserEnd>(std::move(end)) : otherwise(units);
  };
}

Result<std::vector<Program>> analyse(const std::vector<SourceUnit>& units, const RunAnalyser& run) {
  std::vector<Program> programs(units.size());
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const SourceUnit& unit = units[i];
    Program& program = programs[i];
    program.language = unit.language;
    program.family = policy::family_of(unit.language);
    if (program.family.empty()) {
      continue;
    }
    if (unit.code.size() > kMaxCode) {
      program.facts.push_back(unparsed("it is larger than 1 MiB"));
    } else if (!is_utf8(unit.code) || unit.code.find('\0') != std::string::npos) {
      // Interpreters differ in what they make of other encodings.
      program.facts.push_back(unparsed("it is not UTF-8 text"));
    } else {
      jobs.push_back({.program = &program,
                      .language = policy::analysed_as(unit.language, unit.file),
                      .code = unit.code});
    }
  }
  GB_TRY(run_jobs(jobs, run));
  return programs;
}

}  // namespace glovebox
