// SPDX-License-Identifier: Apache-2.0
// Times what the runner of the tier wasm does with a module, without a sandbox or a process for it.
//
//   wasm-loop DIRECTORY MODULE [RUNS]     DIRECTORY has libwasmtime.so
//
// Prints one JSON object, in microseconds of processor time: `library` and `engine`, once for each
// process; `compile`, from the bytes; `load`, of what was compiled before, from a file, and
// `load_bytes`, from memory; `run`, from the compiled module to the end of its _start, with an
// instance of its own. `compiled_bytes` is the size. MODULE must end by returning.
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/sys/write_all.h"
#include "base/unique_fd.h"
#include "bench/statistics.h"
#include "sandbox/wasm/engine.h"
#include "sandbox/wasm/installed.h"
#include "sandbox/wasm/running.h"
#include "sandbox/wasm/wasi.h"
#include "sandbox/wasm/wasmtime.h"
#include "sandbox/wasm/world.h"

namespace glovebox::wasm {
namespace {

double micros() {
  timespec now{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (static_cast<double>(now.tv_sec) * 1e6) + (static_cast<double>(now.tv_nsec) / 1e3);
}

template <typename Work>
auto timed(std::vector<double>& samples, const Work& work) {
  const double begun = micros();
  auto result = work();
  samples.push_back(micros() - begun);
  return result;
}

Result<void> run(const std::string& directory, const char* path, std::size_t runs) {
  std::vector<double> library;
  std::vector<double> engines;
  std::vector<double> compiles;
  std::vector<double> loads;
  std::vector<double> byte_loads;
  std::string serialized;
  std::vector<double> whole;
  const Wasmtime api = GB_TRY(timed(library, [&] { return Wasmtime::load(directory + kLibrary); }));
  Engine* const engine = timed(engines, [&] { return make_engine(api, Mode::kPlain); });
  const std::string bytes = GB_TRY(read_file(path));
  static RealWorld world;
  static Wasi wasi(api, world, {.directories = {"."}});
  GB_TRY(wasi.open_directories());
  std::string compiled = "/tmp/wasm-loop.XXXXXX";
  const UniqueFd file(::mkostemp(compiled.data(), O_CLOEXEC));
  for (std::size_t i = 0; i < runs; ++i) {
    Module* module = GB_TRY(timed(compiles, [&] { return compile(api, engine, bytes); }));
    if (i == 0) {
      serialized = GB_TRY(serialize(api, module));
      if (!file || !sys::write_all(file.get(), serialized)) {
        return Error::from_errno("write '" + compiled + "'");
      }
    }
    GB_TRY(timed(loads, [&] { return load_precompiled(api, engine, compiled); }));
    module = GB_TRY(timed(byte_loads, [&] { return deserialize(api, engine, serialized); }));
    GB_TRY(timed(whole, [&] { return run_module(api, engine, module, wasi, {}); }));
  }
  (void)::unlink(compiled.c_str());
  std::printf(R"({"runs":%zu,"compiled_bytes":%zu)", runs, serialized.size());
  bench::print_statistics("library", std::move(library));
  bench::print_statistics("engine", std::move(engines));
  bench::print_statistics("compile", std::move(compiles));
  bench::print_statistics("load", std::move(loads));
  bench::print_statistics("load_bytes", std::move(byte_loads));
  bench::print_statistics("run", std::move(whole));
  std::printf("}\n");
  return {};
}

}  // namespace
}  // namespace glovebox::wasm

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    (void)std::fputs("usage: wasm-loop DIRECTORY MODULE [RUNS]\n", stderr);
    return 2;
  }
  const auto runs = argc == 4 ? std::strtoul(argv[3], nullptr, 10) : 300;
  if (const auto done = glovebox::wasm::run(argv[1], argv[2], runs); !done) {
    (void)std::fprintf(stderr, "wasm-loop: %s\n", done.error().message().c_str());
    return 1;
  }
  return 0;
}
