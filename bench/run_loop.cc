// SPDX-License-Identifier: Apache-2.0
// Times one-shot runs of a WebAssembly module by the library alone, as the keeper makes them.
//
//   run-loop MODULE [RUNS]
//
// Prints one JSON object, in microseconds, of steps that take turns: `command`, /bin/true in a
// native sandbox that lives; `fresh`, a run in a sandbox of its own; `ready`, one that finds a
// runner waiting and compiles the module; `loaded`, the same with the module as it was compiled
// before. `…_steps` are of that run's verdict.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "bench/statistics.h"
#include "language/registry.h"
#include "sandbox/sandbox.h"
#include "service/runs/one_shot.h"
#include "service/runs/run_terms.h"

namespace glovebox {
namespace {

using bench::Clock;
using bench::micros_between;
using namespace std::chrono_literals;

Result<std::string> text_of(const char* path) {
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) {
    return Error::from_errno("open the module");
  }
  std::string text;
  for (int byte = std::fgetc(file); byte != EOF; byte = std::fgetc(file)) {
    text.push_back(static_cast<char>(byte));
  }
  (void)std::fclose(file);
  return text;
}

class Loop {
 public:
  Result<void> run(const char* path, std::size_t runs) {
    OneShot fresh;
    fresh.code = GB_TRY(text_of(path));
    const Registry registry = Registry::load({});
    fresh.language = in_tier(GB_TRY(registry.find("wasm")), "wasm");
    fresh.limits = run_limits(fresh.language, {});
    fresh.compile_limits = compile_limits(fresh.language, {});
    const auto native = GB_TRY(Sandbox::create({}, {.exactly = "native"}));
    CompiledModules none(
        [](const ReadyKind&, const std::string&, int) -> Result<std::string> {
          return Error(ErrorCode::kInvalid, "not for this one");
        },
        {});
    CompiledModules modules;
    ReadySandboxes ready;
    OneShot compiles = fresh;
    compiles.ahead = {.sandboxes = &ready, .modules = &none, .tenant = "bench"};
    OneShot loads = fresh;
    loads.ahead = {.sandboxes = &ready, .modules = &modules, .tenant = "bench"};
    for (int i = 0; i < 3; ++i) {
      GB_TRY(once("first", ready, loads));
      modules.await_idle();
    }
    for (std::size_t i = 0; i < runs; ++i) {
      const auto begun = Clock::now();
      (void)GB_TRY(native->run({.argv = {"/bin/true"}, .env = {}, .cwd = {}}, {}));
      samples_["command"].push_back(micros_between(begun, Clock::now()));
      GB_TRY(once("fresh", ready, fresh));
      GB_TRY(once("ready", ready, compiles));
      GB_TRY(once("loaded", ready, loads));
    }
    samples_.erase("first");
    std::printf(R"({"runs":%zu)", runs);
    for (const auto& [name, values] : samples_) {
      bench::print_statistics(name.c_str(), values);
    }
    std::printf("}\n");
    return {};
  }

 private:
  Result<void> once(const std::string& name, ReadySandboxes& ready, const OneShot& request) {
    for (int i = 0; request.ahead && i < 2000 && ready.ready() == 0 && name != "first"; ++i) {
      std::this_thread::sleep_for(5ms);
    }
    const auto begun = Clock::now();
    const OneShotResult result = GB_TRY(run_once(request, {}));
    const double took = micros_between(begun, Clock::now());
    if (result.verdict.status != Status::kOk) {
      return Error(ErrorCode::kInvalid, "the module failed: " + result.verdict.err.bytes);
    }
    samples_[name].push_back(took);
    for (const Timing& each : result.verdict.timings) {
      if (!request.ahead) {
        break;
      }
      samples_[name + "_" + each.step].push_back(static_cast<double>(each.took.count()));
    }
    return {};
  }

  std::map<std::string, std::vector<double>> samples_;
};

}  // namespace
}  // namespace glovebox

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    (void)std::fputs("usage: run-loop MODULE [RUNS]\n", stderr);
    return 2;
  }
  const auto runs = argc == 3 ? std::strtoul(argv[2], nullptr, 10) : 100;
  glovebox::Loop loop;
  if (const auto done = loop.run(argv[1], runs); !done) {
    (void)std::fprintf(stderr, "run-loop: %s\n", done.error().message().c_str());
    return 1;
  }
  return 0;
}
