// SPDX-License-Identifier: Apache-2.0
// glovebox-wasm: runs one WebAssembly module, as the guest of a sandbox of the tier `wasm`.
//
//   glovebox-wasm [--deterministic=FUEL] -- MODULE [ARGUMENT…]
//   glovebox-wasm [--deterministic=FUEL] --wait
//   glovebox-wasm --precompile MODULE OUTPUT [--deterministic]
//   glovebox-wasm --check OUTPUT [--deterministic]
//
// MODULE is the path of a file in the binary or the text format, or the bare name of an interpreter
// that is installed beside this program: `python3`, `qjs`, `ruby` or `sqlite3`. With --wait, it
// says that it waits, and what to run comes over its standard input (beginning.h). The runner's own
// exit status and signals show how the module ended, so that it is judged like any guest: a trap is
// the signal that a program of the machine would have got for the same mistake.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/write_all.h"
#include "base/unique_fd.h"
#include "base/wire.h"
#include "sandbox/wasm/beginning.h"
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
  bool waits = false;
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
    } else if (option == kWaitOption) {
      options.waits = true;
    } else if (option == "--") {
      ++next;
      break;
    } else {
      return Error(ErrorCode::kInvalid, "unknown option '" + std::string(option) + "'");
    }
  }
  options.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(next), arguments.end());
  if (options.command.empty() && !options.waits) {
    return Error(ErrorCode::kInvalid, "no module to run");
  }
  return options;
}

// A guest's module is compiled here, whatever it says it is.
Result<Module*> load(const Wasmtime& api,
                     Engine* engine,
                     Mode mode,
                     const std::string& directory,
                     const std::string& module) {
  return module.contains('/') ? compile(api, engine, GB_TRY(read_file(module.c_str())))
                              : load_precompiled(api, engine, precompiled(directory, module, mode));
}

Result<std::string> read_exactly(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t filled = 0; filled < size;) {
    const ssize_t got = ::read(STDIN_FILENO, bytes.data() + filled, size - filled);
    if (got <= 0) {
      return Error(ErrorCode::kUnavailable, "nothing has begun");
    }
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

// Says that it waits, and waits.
Result<std::string> await_beginning() {
  if (!sys::write_all(STDOUT_FILENO, "w")) {
    return Error::from_errno("say that the runner waits");
  }
  const std::string head = GB_TRY(read_exactly(sizeof(std::uint32_t)));
  const std::uint32_t size = WireReader(head).u32();
  if (size > Beginning::kMostBytes) {
    return Error(ErrorCode::kInvalid, "the beginning of the run is too long");
  }
  return read_exactly(size);
}

// A runner does everything slowly the first time: it touches pages and symbols for the first time.
// Nothing of this module is left for the next.
Result<void> warm_up(const Wasmtime& api,
                     Engine* engine,
                     Wasi& wasi,
                     std::optional<std::uint64_t> fuel) {
  const Module* const module = GB_TRY(compile(api, engine, R"((module
    (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 0) "x")
    (func (export "_start"))))"));
  const std::string compiled = GB_TRY(serialize(api, module));
  GB_TRY(run_module(api, engine, GB_TRY(deserialize(api, engine, compiled)), wasi, fuel));
  return {};
}

// Ends a runner that has waited. After a success it only stops, and its parent takes that for its
// end (StartRequest::waits): its memory is torn down when nobody waits for it any more.
void stop_or_exit(int status) {
  if (status == 0) {
    (void)::raise(SIGSTOP);
  }
  ::_exit(status);
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
  Wasi* const wasi = GB_TRY(make_wasi(api, options));
  if (options.waits) {
    wasi->end_by(&stop_or_exit);
  }
  const auto fuel =
      options.mode == Mode::kDeterministic ? std::optional(options.fuel) : std::nullopt;
  std::string name = options.command.empty() ? std::string() : options.command.front();
  Module* module = nullptr;
  if (options.waits) {
    GB_TRY(warm_up(api, engine, *wasi, fuel));
    const std::string bytes = GB_TRY(await_beginning());
    Beginning beginning = GB_TRY(Beginning::decode(bytes));
    name = beginning.arguments.front();
    if (beginning.compiles) {
      const Module* const made = GB_TRY(load(api, engine, options.mode, directory, name));
      const std::string compiled = GB_TRY(serialize(api, made));
      return sys::write_all(STDOUT_FILENO, compiled) ? Result<int>(0)
                                                     : Error::from_errno("write the module");
    }
    wasi->give(std::move(beginning.arguments), std::move(beginning.environment));
    if (!beginning.compiled.empty()) {
      // If the library has been replaced meanwhile, the module is compiled again.
      if (const auto loaded = deserialize(api, engine, beginning.compiled); loaded) {
        module = *loaded;
      }
    }
  }
  if (module == nullptr) {
    module = GB_TRY(load(api, engine, options.mode, directory, name));
  }
  GB_TRY(give_up_new_code());
  const int status = GB_TRY(run_module(api, engine, module, *wasi, fuel));
  if (options.waits) {
    stop_or_exit(status);
  }
  return status;
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
  GB_TRY(write_file(to, GB_TRY(serialize(api, module))));
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
