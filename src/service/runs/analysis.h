// SPDX-License-Identifier: Apache-2.0
// Analyses programs before they are run, inside a sandbox: what it reads is hostile.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "guard/policy/assessment.h"
#include "sandbox/sandbox.h"
#include "service/runs/warm_analyser.h"

namespace glovebox {

// What to analyse.
struct SourceUnit {
  std::string language;  // The id of a language.
  std::string code;
  std::string file{};  // Its name, as far as the language depends on it; may be empty.
};

// What the analyser reads: the texts and their languages.
inline constexpr std::string_view kAnalysedFile = "units";
// What it may use.
inline constexpr std::chrono::seconds kAnalysisTime{20};
inline constexpr Bytes kAnalysisMemory = 512_MiB;
inline constexpr std::uint32_t kAnalysisProcesses = 32;
inline constexpr Bytes kAnalysisDisk = 64_MiB;
inline constexpr Bytes kAnalysisOutput = 32_MiB;

// How it ended.
struct AnalyserEnd {
  std::string_view status{};  // Of its verdict: "ok".
  std::string printed{};
  std::string missing{};  // Why it cannot run at all; empty: it did.
};
// Runs the program glovebox-analyser (service/runs/analyser_program.h) inside walls, for units as
// it reads them. Fails only when no sandbox can be had.
using RunAnalyser = std::function<Result<AnalyserEnd>(const std::string& units)>;

// In a sandbox of this process.
RunAnalyser in_own_sandbox(TierWish tier);

// In a confined process (base/confined/program.h) that lives some milliseconds and has nothing but
// its memory; long or laborious texts, and those beyond the few that may run so at once, go to
// `otherwise`. `analyser` must outlive it.
RunAnalyser confined_or(WarmAnalyser& analyser, RunAnalyser otherwise);

// The facts about each unit, in their order. A unit that is too large, or that the analysis cannot
// cope with, has a fact of kind kUnparsed; one in a language that the analyser does not know has no
// family. Fails only as `run` does. Takes some 10 ms, and at most kAnalysisTime. Safe to use from
// any thread.
Result<std::vector<policy::Program>> analyse(const std::vector<SourceUnit>& units,
                                             const RunAnalyser& run);

}  // namespace glovebox
