// SPDX-License-Identifier: Apache-2.0
// glovebox-wasm: runs one WebAssembly module, as the guest of a sandbox of the tier `wasm`.
//
//   glovebox-wasm [--deterministic=FUEL] -- MODULE [ARGUMENT…]
//   glovebox-wasm --precompile MODULE OUTPUT [--deterministic]
//   glovebox-wasm --check OUTPUT [--deterministic]
//
// MODULE is a file in the binary or the text format, or `python3`. What the module does is in the
// runner's own exit status and signals, so that it is judged as any guest is: a trap is the signal
// that a program of the machine would have got for the same mistake.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/write_all.h"
#include "base/unique_fd.h"
#include "sandbox/wasm/confinement.h"
#include "sandbox/wasm/engine.h"
#include "sandbox/wasm/wasi.h"
#include "sandbox/wasm/wasmtime.h"
#include "sandbox/wasm/world.h"

namespace glovebox::wasm {
namespace {

constexpr std::string_view kPython = "python3";
constexpr const char* kLibrary = "/libwasmtime.so";

// As a shell answers for what cannot be executed.
constexpr int kCannotRun = 126;

struct Options {
  Mode mode = Mode::kPlain;
  std::uint64_t fuel = 0;
  std::vector<const char*> command;  // The module, and its arguments.
};

void say(std::string_view text) {
  const std::string line = "glovebox-wasm: " + std::string(text) + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

int complain(const Error& error) {
  say(error.message());
  if (!error.hint().empty()) {
    say("hint: " + error.hint());
  }
  return kCannotRun;
}

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

// The directory of this program, where the library and the interpreters are.
Result<std::string> own_directory() {
  std::array<char, 4096> self{};
  const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (size <= 0) {
    return Error::from_errno("read /proc/self/exe");
  }
  const std::string program(self.data(), static_cast<std::size_t>(size));
  return program.substr(0, program.rfind('/'));
}

Result<std::string> read_file(const char* path) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::string bytes;
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return Error::from_errno("open '" + std::string(path) + "'");
  }
  bytes.resize(static_cast<std::size_t>(status.st_size));
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got <= 0) {
      return got == 0 ? Error(ErrorCode::kInvalid, "'" + std::string(path) + "' became shorter")
                      : Error::from_errno("read '" + std::string(path) + "'");
    }
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string precompiled_python(const std::string& directory, Mode mode) {
  return directory + (mode == Mode::kPlain ? "/python.cwasm" : "/python-deterministic.cwasm");
}

// What was compiled at installation is trusted as this program is.
Result<Module*> load_precompiled(const Wasmtime& api, Engine* engine, const std::string& path) {
  Module* module = nullptr;
  auto loaded = api.check(api.wasmtime_module_deserialize_file(engine, path.c_str(), &module),
                          "load " + path);
  return loaded ? Result<Module*>(module)
                : std::move(loaded).error().with_hint(
                      "run the program 'install' beside "
                      "glovebox-wasm again");
}

// A guest's module is compiled here, whatever it says it is.
Result<Module*> load(const Wasmtime& api,
                     Engine* engine,
                     const Options& options,
                     const std::string& directory) {
  if (options.command.front() == kPython) {
    return load_precompiled(api, engine, precompiled_python(directory, options.mode));
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

// The signal that a program of the machine gets for the same.
int signal_for(TrapCode code) {
  switch (code) {
    case TrapCode::kStackOverflow:
    case TrapCode::kMemoryOutOfBounds:
      return SIGSEGV;
    case TrapCode::kIntegerOverflow:
    case TrapCode::kIntegerDivisionByZero:
      return SIGFPE;
    case TrapCode::kUnreachable:
      return SIGABRT;
    case TrapCode::kOutOfFuel:
      return SIGXCPU;
  }
  return SIGILL;
}

[[noreturn]] void die_of(int signal) {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  (void)::sigaction(signal, &by_default, nullptr);
  (void)::raise(signal);
  ::_exit(128 + signal);
}

// The reason, which Wasmtime puts last, and where in the module that was.
std::string description(std::string_view message) {
  constexpr std::string_view kReason = "wasm trap: ";
  message = message.substr(0, message.find('\0'));
  const std::size_t at = message.find(kReason);
  const std::string_view reason =
      at == std::string_view::npos ? message : message.substr(at + kReason.size());
  std::string text = "trap: " + std::string(reason.substr(0, reason.find('\n')));
  for (std::size_t line = 0; at != std::string_view::npos && line < message.size();) {
    const std::size_t end = std::min(message.find('\n', line), message.size());
    // "    0: 0x31 - module!function"
    if (const std::string_view one = message.substr(line, end - line);
        one.starts_with("  ") && one.find(": ") < 8) {
      text += "\n" + std::string(one);
    }
    line = end + 1;
  }
  return text;
}

int conclude(const Wasmtime& api, LibraryError* error, Trap* trap) {
  if (trap != nullptr) {
    ByteVector message;
    api.wasm_trap_message(trap, &message);
    say(description({message.data, message.size}));
    TrapCode code{};
    die_of(api.wasmtime_trap_code(trap, &code) ? signal_for(code) : SIGILL);
  }
  return error == nullptr ? 0 : complain(api.check(error, "run the module").error());
}

Result<int> run(const Options& options) {
  const std::string directory = GB_TRY(own_directory());
  const Wasmtime api = GB_TRY(Wasmtime::load(directory + kLibrary));
  GB_TRY(give_up_programs());
  Engine* const engine = make_engine(api, options.mode);
  Module* const module = GB_TRY(load(api, engine, options, directory));
  Store* const store = api.wasmtime_store_new(engine, nullptr, nullptr);
  Context* const context = api.wasmtime_store_context(store);
  Wasi* const wasi = GB_TRY(make_wasi(api, options));
  Linker* const linker = api.wasmtime_linker_new(engine);
  GB_TRY(wasi->define(linker));
  if (options.mode == Mode::kDeterministic) {
    GB_TRY(api.check(api.wasmtime_context_set_fuel(context, options.fuel), "set the fuel"));
  }
  GB_TRY(give_up_new_code());
  Instance instance;
  Trap* trap = nullptr;
  LibraryError* error = api.wasmtime_linker_instantiate(linker, context, module, &instance, &trap);
  if (error == nullptr && trap == nullptr) {
    constexpr std::string_view kStart = "_start";
    Extern start;
    if (!api.wasmtime_instance_export_get(context, &instance, kStart.data(), kStart.size(),
                                          &start) ||
        start.kind != ExternKind::kFunction) {
      return Error(ErrorCode::kInvalid, "the module has no function _start",
                   "compile it as a WASI command, not as a library");
    }
    error = api.wasmtime_func_call(context, &start.of.function, nullptr, 0, nullptr, 0, &trap);
  }
  return conclude(api, error, trap);
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
