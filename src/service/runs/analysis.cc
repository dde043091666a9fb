// SPDX-License-Identifier: Apache-2.0
#include "service/runs/analysis.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <semaphore>
#include <string_view>
#include <utility>

#include "base/confined/program.h"
#include "base/text.h"
#include "guard/policy/analysers.h"
#include "language/registry.h"
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
constexpr std::string_view kConfinedAnalyser = "analyser/glovebox-analyser";

// A text for one of the analysers, and the program that its facts belong to.
struct Job {
  Program* program;
  nlohmann::json unit;
};

// Which program handles which jobs.
enum class Analyser : std::uint8_t { kNode, kCompiled };

Fact unparsed(std::string why) { return {.kind = FactKind::kUnparsed, .name = std::move(why)}; }

AnalyserRun run_of(Analyser analyser, const std::vector<Job>& jobs) {
  nlohmann::json units = nlohmann::json::array();
  for (const Job& job : jobs) {
    units.push_back(job.unit);
  }
  std::string text = units.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (analyser == Analyser::kCompiled) {
    return {.compiled = true, .file_name = kAnalysedFile, .code = std::move(text)};
  }
  AnalyserRun run{.options = {"--expose-internals"},
                  .file_name = "main.js",
                  .code = std::string(policy::javascript_analyser())};
  run.files.emplace(kAnalysedFile, std::move(text));
  return run;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
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
  const std::vector<std::string_view> lines = lines_of(end.printed);
  if (end.status != to_string(Status::kOk) || lines.size() != jobs.size()) {
    return "the analysis failed";
  }
  std::vector<std::vector<Fact>> all;
  for (const std::string_view line : lines) {
    auto facts = policy::parse_facts(line);
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

Result<void> run_jobs(Analyser analyser, const std::vector<Job>& jobs, const RunAnalyser& run) {
  if (jobs.empty()) {
    return {};
  }
  const AnalyserEnd end = GB_TRY(run(run_of(analyser, jobs)));
  const std::optional<std::string> failure = take_facts(jobs, end);
  if (failure && (jobs.size() == 1 || !end.missing.empty())) {
    for (const Job& job : jobs) {
      job.program->facts.push_back(unparsed(*failure));
    }
  } else if (failure) {
    // One of them is to blame. The others have their facts all the same.
    for (const Job& job : jobs) {
      GB_TRY(run_jobs(analyser, {job}, run));
    }
  }
  return {};
}

// The scripts that the analysis of JavaScript found, for the analyser of shell scripts.
void take_scripts(Program& program, std::vector<Job>& jobs) {
  constexpr std::size_t kMostScripts = 256;
  std::size_t taken = 0;
  for (const Fact& fact : program.facts) {
    if (fact.kind == FactKind::kShell && ++taken <= kMostScripts) {
      jobs.push_back({&program,
                      {{"language", "shell"},
                       {"code", fact.name},
                       {"line", fact.line},
                       {"column", fact.column}}});
    }
  }
  if (taken <= kMostScripts) {
    std::erase_if(program.facts, [](const Fact& fact) { return fact.kind == FactKind::kShell; });
  }
}

}  // namespace

RunAnalyser in_own_sandbox(TierWish tier) {
  return [tier = std::move(tier)](const AnalyserRun& run) -> Result<AnalyserEnd> {
    OneShot request;
    Language& language = request.language;
    language.id = "analysis";
    language.file_name = run.file_name;
    if (run.compiled) {
      const auto program = analyser_path();
      if (!program) {
        return AnalyserEnd{.missing = "the analysis fails: " + program.error().message()};
      }
      language.title = "the analyser";
      language.run = {*program, "{file}"};
      language.mounts = {GB_TRY(analyser_mount())};
    } else {
      // Without the user's settings and packages: the analysis depends on nothing but Node.js.
      language.title = "Node.js";
      language.run = {"node"};
      language.run.insert(language.run.end(), run.options.begin(), run.options.end());
      language.run.emplace_back("{file}");
      language.package = "nodejs";
      language.mounts = {{.source = "/etc/nodejs", .target = "/etc/nodejs", .optional = true}};
    }
    request.code = run.code;
    request.contents = run.files;
    request.limits.wall = kAnalysisTime;
    request.limits.memory = kAnalysisMemory;
    request.limits.pids = kAnalysisProcesses;
    request.limits.disk = kAnalysisDisk;
    request.limits.output = kAnalysisOutput;
    request.tier = tier;
    if (const Readiness ready = readiness(language); !ready.ready) {
      return AnalyserEnd{.missing = "the analysis needs " + language.title +
                                    ", which is not installed (" + ready.hint + ")"};
    }
    OneShotResult result = GB_TRY(run_once(request, {}));
    return AnalyserEnd{.status = to_string(result.verdict.status),
                       .printed = std::move(result.verdict.out.bytes)};
  };
}

RunAnalyser confined_or(RunAnalyser otherwise) {
  return [otherwise = std::move(otherwise)](const AnalyserRun& run) -> Result<AnalyserEnd> {
    // Of all callers: these are counted against no tenant.
    static std::counting_semaphore<kMostConfined> places(kMostConfined);
    if (!run.compiled || run.code.size() > kMostConfinedCode || !places.try_acquire()) {
      return otherwise(run);
    }
    AnalyserEnd end{.status = to_string(Status::kOk)};
    const auto done = confined::run_confined({.program = std::string(kConfinedAnalyser),
                                              .arguments = {"-"},
                                              .attempt = "analyse the program",
                                              .breach = "the analysis failed",
                                              .text = run.code,
                                              .time = kConfinedTime,
                                              .most_written = kMostFacts,
                                              .output = [&](std::string_view piece) {
                                                end.printed += piece;
                                                return Result<void>();
                                              }});
    places.release();
    // Whatever went wrong, a sandbox of the tenant's has more time and memory for it.
    return done ? Result<AnalyserEnd>(std::move(end)) : otherwise(run);
  };
}

Result<std::vector<Program>> analyse(const std::vector<SourceUnit>& units, const RunAnalyser& run) {
  std::vector<Program> programs(units.size());
  std::vector<Job> compiled;
  std::vector<Job> javascript;
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
      // What interpreters make of other encodings is theirs to say, and no two agree.
      program.facts.push_back(unparsed("it is not UTF-8 text"));
    } else {
      auto& jobs = program.family == "javascript" ? javascript : compiled;
      jobs.push_back({&program, {{"language", program.family}, {"code", unit.code}}});
    }
  }
  GB_TRY(run_jobs(Analyser::kNode, javascript, run));
  for (Program& program : programs) {
    take_scripts(program, compiled);
  }
  GB_TRY(run_jobs(Analyser::kCompiled, compiled, run));
  return programs;
}

}  // namespace glovebox
