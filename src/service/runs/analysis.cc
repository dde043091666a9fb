// SPDX-License-Identifier: Apache-2.0
#include "service/runs/analysis.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "guard/policy/analysers.h"
#include "language/registry.h"
#include "service/runs/one_shot.h"

namespace glovebox {
namespace {

using policy::Fact;
using policy::FactKind;
using policy::Program;

constexpr std::size_t kMaxCode = 1024 * 1024;

// A text for one of the analysers, and the program that its facts belong to.
struct Job {
  Program* program;
  nlohmann::json unit;
};

Fact unparsed(std::string why) { return {.kind = FactKind::kUnparsed, .name = std::move(why)}; }

AnalyserRun run_of(bool javascript, const std::vector<Job>& jobs) {
  nlohmann::json units = nlohmann::json::array();
  for (const Job& job : jobs) {
    units.push_back(job.unit);
  }
  // Without the user's settings and packages: the analysis depends on nothing but the interpreter.
  AnalyserRun run;
  if (javascript) {
    run = {.program_name = "node",
           .options = {"--expose-internals"},
           .file_name = "main.js",
           .code = std::string(policy::javascript_analyser())};
  } else {
    run = {.program_name = "python3",
           .options = {"-I", "-S", "-B"},
           .file_name = "analysis.py",
           .code = std::string(policy::python_analyser()),
           .files = policy::python_analyser_files()};
  }
  run.files.emplace(kAnalysedFile,
                    units.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
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

Result<void> run_jobs(bool javascript, const std::vector<Job>& jobs, const RunAnalyser& run) {
  if (jobs.empty()) {
    return {};
  }
  const AnalyserEnd end = GB_TRY(run(run_of(javascript, jobs)));
  const std::optional<std::string> failure = take_facts(jobs, end);
  if (failure && (jobs.size() == 1 || !end.missing.empty())) {
    for (const Job& job : jobs) {
      job.program->facts.push_back(unparsed(*failure));
    }
  } else if (failure) {
    // One of them is to blame. The others have their facts all the same.
    for (const Job& job : jobs) {
      GB_TRY(run_jobs(javascript, {job}, run));
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
    const bool javascript = run.program_name == "node";
    language.id = javascript ? "javascript" : "python";
    language.title = javascript ? "Node.js" : "Python";
    language.file_name = run.file_name;
    language.run = {std::string(run.program_name)};
    language.run.insert(language.run.end(), run.options.begin(), run.options.end());
    language.run.emplace_back("{file}");
    language.package = javascript ? "nodejs" : "python3";
    language.mounts = {{.source = "/etc/nodejs", .target = "/etc/nodejs", .optional = true}};
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

Result<std::vector<Program>> analyse(const std::vector<SourceUnit>& units, const RunAnalyser& run) {
  std::vector<Program> programs(units.size());
  std::vector<Job> python;
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
      auto& jobs = program.family == "javascript" ? javascript : python;
      jobs.push_back({&program, {{"language", program.family}, {"code", unit.code}}});
    }
  }
  GB_TRY(run_jobs(true, javascript, run));
  for (Program& program : programs) {
    take_scripts(program, python);
  }
  GB_TRY(run_jobs(false, python, run));
  return programs;
}

}  // namespace glovebox
