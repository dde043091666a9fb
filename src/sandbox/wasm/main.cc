// SPDX-License-Identifier: Apache-2.0
// glovebox-wasm: runs one WebAssembly module, as the guest of a sandbox of the tier `wasm`.
//
//   glovebox-wasm [--deterministic=FUEL] -- MODULE [ARGUMENT…]
//   glovebox-wasm --precompile MODULE OUTPUT [--deterministic]
//   glovebox-wasm --check OUTPUT [--deterministic]
//
// MODULE is the path of a file in the binary or the text format, or the bare name of an interpreter
// that is installed beside this program: `python3` or `qjs`. What the module does is in the
// runner's own exit status and signals, so that it is judged as any guest is: a trap is the signal
// that a program of the machine would have got for the same mistake.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/write_all.h"
#include "base/unique_fd.h"
#include "sandbox/wasm/confinement.h"
#include "sandbox/wasm/engine.h"
#include "sandbox/wasm/installed.h"
#include "sandbox/wasm/running.h"
#include "sandbox/wasm/wasi.h"
#include "sandbox/wasm/wasmtime.h"
#include "sandbox/wasm/world.h"

namespace glovebox::wasm {
namespace {

struct Options {
  Mode mode = Mode::kPlain;
  std::uint64_t fuel = 0;
  std::vector<const char*> command;  // The module, and its arguments.
};

template <typename Number>
Result<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Error(ErrorCode::kInvalid, "'" + std::string(text) + "' is not a number");
  }
  return number;
}

Result<Options> parse(std::span<char* const> arguments) {
  constexpr std::string_view kDeterministic = "--deterministic=";
  Options options;
  std::size_t next = 1;
  for (; next < arguments.size() && arguments[next][0] == '-'; ++next) {
    const std::string_view option = arguments[next];
    if (option.starts_with(kDeterministic)) {
      options.mode = Mode::kDeterministic;
      options.fuel = GB_TRY(number_in<std::uint64_t>(option.substr(kDeterministic.size())));
    } else if (option == "--") {
      ++next;
      break;
    } else {
      return Error(ErrorCode::kInvalid, "unknown option '" + std::string(option) + "'");
    }
  }
  options.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(next), arguments.end());
  if (options.command.empty()) {
    return Error(ErrorCode::kInvalid, "no module to run");
  }
  return options;
}

// A guest's module is compiled here, whatever it says it is.
Result<Module*> load(const Wasmtime& api,
                     Engine* engine,
                     const Options& options,
                     const std::string& directory) {
  const std::string_view module = options.command.front();
  if (!module.contains('/')) {
    return load_precompiled(api, engine, precompiled(directory, module, options.mode));
  }
  const std::string bytes = GB_TRY(read_file(options.command.front()));
  return compile(api, engine, bytes);
}

// It lives as long as the process.
Result<Wasi*> make_wasi(const Wasmtime& api, const Options& options) {
  static RealWorld real;
  static DeterministicWorld deterministic;
  World& world = options.mode == Mode::kDeterministic ? static_cast<World&>(deterministic) : real;
  Wasi::Given given{.arguments = {options.command.begin(), options.command.end()}};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    given.environment.emplace_back(*variable);
  }
  static Wasi wasi(api, world, std::move(given));
  GB_TRY(wasi.open_directories());
  return &wasi;
}

Result<int> run(const Options& options) {
  const std::string directory = GB_TRY(own_directory());
  const Wasmtime api = GB_TRY(Wasmtime::load(directory + kLibrary));
  GB_TRY(give_up_programs());
  Engine* const engine = make_engine(api, options.mode);
  const Module* const module = GB_TRY(load(api, engine, options, directory));
  Wasi* const wasi = GB_TRY(make_wasi(api, options));
  GB_TRY(give_up_new_code());
  const bool counts = options.mode == Mode::kDeterministic;
  return run_module(api, engine, module, *wasi,
                    counts ? std::optional(options.fuel) : std::nullopt);
}

Result<void> write_file(const char* path, std::string_view bytes) {
  const UniqueFd file(::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  return file && sys::write_all(file.get(), bytes)
             ? Result<void>()
             : Error::from_errno("write '" + std::string(path) + "'");
}

Result<int> precompile(const char* from, const char* to, Mode mode) {
  const std::string directory = GB_TRY(own_directory());
  const Wasmtime api = GB_TRY(Wasmtime::load(directory + kLibrary));
  const std::string source = GB_TRY(read_file(from));
  Module* const module = GB_TRY(compile(api, make_engine(api, mode), source));
  ByteVector bytes;
  GB_TRY(api.check(api.wasmtime_module_serialize(module, &bytes), "serialize the module"));
  GB_TRY(write_file(to, {bytes.data, bytes.size}));
  return 0;
}

// Whether this runner, on this processor, can load what was precompiled. Only for files of ours.
Result<int> check(const char* path, Mode mode) {
  const std::string directory = GB_TRY(own_directory());
  const Wasmtime api = GB_TRY(Wasmtime::load(directory + kLibrary));
  GB_TRY(load_precompiled(api, make_engine(api, mode), path));
  return 0;
}

Result<int> dispatch(std::span<char* const> arguments) {
  const std::string_view task = arguments.size() > 1 ? arguments[1] : "";
  const Mode mode =
      std::string_view(arguments.back()) == "--deterministic" ? Mode::kDeterministic : Mode::kPlain;
  if (task == "--precompile" && arguments.size() >= 4) {
    return precompile(arguments[2], arguments[3], mode);
  }
  if (task == "--check" && arguments.size() >= 3) {
    return check(arguments[2], mode);
  }
  const Options options = GB_TRY(parse(arguments));
  return run(options);
}

}  // namespace
}  // namespace glovebox::wasm

int main(int argc, char** argv) {
  const auto status = glovebox::wasm::dispatch({argv, static_cast<std::size_t>(argc)});
  ::_exit(status ? *status : glovebox::wasm::complain(status.error()));
}
