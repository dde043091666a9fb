// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm/running.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "sandbox/wasm/installed.h"

namespace glovebox::wasm {
namespace {

// The signal that a program of the machine gets for the same mistake.
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

// The reason, which Wasmtime puts last, and where in the module the trap was.
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

}  // namespace

Result<int> run_module(const Wasmtime& api,
                       Engine* engine,
                       const Module* module,
                       Wasi& wasi,
                       std::optional<std::uint64_t> fuel) {
  Store* const store = api.wasmtime_store_new(engine, nullptr, nullptr);
  Context* const context = api.wasmtime_store_context(store);
  Linker* const linker = api.wasmtime_linker_new(engine);
  GB_TRY(wasi.define(linker, module));
  if (fuel) {
    GB_TRY(api.check(api.wasmtime_context_set_fuel(context, *fuel), "set the fuel"));
  }
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

}  // namespace glovebox::wasm
