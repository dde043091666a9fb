// SPDX-License-Identifier: Apache-2.0
#include "service/analysis.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "guard/policy/analysers.h"
#include "language/registry.h"
#include "service/one_shot.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;
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

OneShot request_for(bool javascript, const std::vector<Job>& jobs, const TierWish& tier) {
  nlohmann::json units = nlohmann::json::array();
  for (const Job& job : jobs) {
    units.push_back(job.unit);
  }
  OneShot request;
  request.language.id = javascript ? "javascript" : "python";
  request.language.title = javascript ? "Node.js" : "Python";
  request.language.file_name = javascript ? "main.js" : "main.py";
  // Without the user's settings and packages: the analysis depends on nothing but the interpreter.
  request.language.run = javascript
                             ? std::vector<std::string>{"node", "--expose-internals", "{file}"}
                             : std::vector<std::string>{"python3", "-I", "-S", "-B", "{file}"};
  request.language.package = javascript ? "nodejs" : "python3";
  request.language.mounts = {{.source = "/etc/nodejs", .target = "/etc/nodejs", .optional = true}};
  request.code = javascript ? policy::javascript_analyser() : policy::python_analyser();
  if (!javascript) {
    request.contents = policy::python_analyser_files();
  }
  request.contents.emplace("units.json",
                           units.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  request.limits.wall = 20s;
  request.limits.memory = 512_MiB;
  request.limits.pids = 32;
  request.limits.disk = 64_MiB;
  request.limits.output = 32_MiB;
  request.tier = tier;
  return request;
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
std::optional<std::string> take_facts(const std::vector<Job>& jobs, const Verdict& verdict) {
  if (verdict.status == Status::kTimeout) {
    return "the analysis takes too long";
  }
  if (verdict.status == Status::kOutOfMemory) {
    return "the analysis needs too much memory";
  }
  const std::vector<std::string_view> lines = lines_of(verdict.out.bytes);
  if (verdict.status != Status::kOk || lines.size() != jobs.size()) {
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

Result<void> run_jobs(bool javascript, const std::vector<Job>& jobs, const TierWish& tier) {
  if (jobs.empty()) {
    return {};
  }
  const OneShot request = request_for(javascript, jobs, tier);
  if (const Readiness ready = readiness(request.language); !ready.ready) {
    for (const Job& job : jobs) {
      job.program->facts.push_back(unparsed("the analysis needs " + request.language.title +
                                            ", which is not installed (" + ready.hint + ")"));
    }
    return {};
  }
  const OneShotResult result = GB_TRY(run_once(request, {}));
  const std::optional<std::string> failure = take_facts(jobs, result.verdict);
  if (failure && jobs.size() == 1) {
    jobs.front().program->facts.push_back(unparsed(*failure));
  } else if (failure) {
    // One of them is to blame. The others have their facts all the same.
    for (const Job& job : jobs) {
      GB_TRY(run_jobs(javascript, {job}, tier));
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

Result<std::vector<Program>> analyse(const std::vector<SourceUnit>& units, const TierWish& tier) {
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
  GB_TRY(run_jobs(true, javascript, tier));
  for (Program& program : programs) {
    take_scripts(program, python);
  }
  GB_TRY(run_jobs(false, python, tier));
  return programs;
}

}  // namespace glovebox
