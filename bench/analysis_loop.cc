// SPDX-License-Identifier: Apache-2.0
// Times the analysis of programs as the daemon makes it: by a warm analyser, which is a process
// that waits for its text, from the text to the facts.
//
//   analysis-loop LANGUAGE FILE [ROUNDS]
//
// Prints one JSON object. Times are in microseconds.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "bench/statistics.h"
#include "service/runs/analysis.h"

namespace glovebox {
namespace {

using bench::Clock;

// In which the next analyser starts. Cells come further apart.
constexpr std::chrono::milliseconds kPause{20};

Result<std::string> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  return file.good() || file.eof() ? Result<std::string>(std::move(text))
                                   : Error(ErrorCode::kInvalid, std::string("cannot read ") + path);
}

Result<void> measure(const char* language, const char* path, int rounds) {
  const std::vector<SourceUnit> units{{.language = language, .code = GB_TRY(read_file(path))}};
  WarmAnalyser analyser;
  const RunAnalyser run = confined_or(analyser, [](const std::string&) -> Result<AnalyserEnd> {
    return Error(ErrorCode::kInternal, "a confined process could not analyse this");
  });
  std::size_t facts = GB_TRY(analyse(units, run)).at(0).facts.size();  // The first is not warm.
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    std::this_thread::sleep_for(kPause);
    const auto begun = Clock::now();
    const auto programs = GB_TRY(analyse(units, run));
    times.push_back(bench::micros_between(begun, Clock::now()));
    facts = programs.at(0).facts.size();
  }
  std::printf(R"({"facts":%zu)", facts);
  bench::print_statistics("analysis", std::move(times));
  std::puts("}");
  return {};
}

}  // namespace
}  // namespace glovebox

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: analysis-loop LANGUAGE FILE [ROUNDS]\n");
    return 2;
  }
  const auto done = glovebox::measure(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 100);
  if (!done) {
    std::fprintf(stderr, "analysis-loop: %s\n", done.error().message().c_str());
  }
  return done ? 0 : 1;
}
