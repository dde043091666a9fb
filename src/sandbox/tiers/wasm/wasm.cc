// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/wasm/wasm.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/installation.h"
#include "base/text.h"
#include "sandbox/tiers/native/native.h"
#include "sandbox/wasm/beginning.h"

namespace glovebox {
namespace {

// Where the runner, its library and its interpreters are: of our installation, and inside.
constexpr const char* kDirectory = "/wasm";
constexpr std::string_view kOurs = "/opt/glovebox/";
constexpr const char* kInside = "/opt/glovebox/wasm";
constexpr const char* kRunner = "/glovebox-wasm";
constexpr const char* kZygote = "/glovebox-wasm-zygote";
constexpr const char* kLibrary = "/libwasmtime.so";

// What a bare name stands for, as in a PATH.
struct Interpreter {
  std::string_view program;
  std::string_view language;
  const char* file;  // In our directory.
};
constexpr std::array<Interpreter, 5> kInterpreters = {{{"python3", "Python", "/python.cwasm"},
                                                       {"python", "Python", "/python.cwasm"},
                                                       {"qjs", "JavaScript", "/qjs.cwasm"},
                                                       {"ruby", "Ruby", "/ruby.cwasm"},
                                                       {"sqlite3", "SQL", "/sqlite3.cwasm"}}};

// Deterministic runs end by the work that they have done. This much for a second of the time limit
// takes a tenth of that second on a machine of today, so that the time itself ends none of them
// unless the machine is starved (docs/wasm.md has the measurement).
constexpr std::uint64_t kFuelPerSecond = 1'000'000'000;

// A directory that has the library; kUnsupported says how to get it.
Result<std::string> find_directory() {
  std::string without;
  for (const std::string& each : GB_TRY(sys::installed_directories())) {
    std::string directory = each + kDirectory;
    if (::access((directory + kRunner).c_str(), X_OK) != 0) {
      continue;
    }
    if (::access((directory + kLibrary).c_str(), R_OK) == 0) {
      return directory;
    }
    if (without.empty()) {
      without = std::move(directory);
    }
  }
  return without.empty() ? Error(ErrorCode::kUnsupported, "glovebox-wasm was not found",
                                 "install it in /usr/libexec/glovebox/wasm")
                         : Error(ErrorCode::kUnsupported, "libwasmtime is not installed",
                                 sys::run_installer(without));
}

// By the name of its program; kUnsupported if there is none of that name in `directory`.
Result<void> find_interpreter(const std::string& directory, std::string_view program) {
  const auto* const interpreter = std::ranges::find(kInterpreters, program, &Interpreter::program);
  if (interpreter == kInterpreters.end()) {
    return Error(ErrorCode::kUnsupported,
                 "the wasm tier has no '" + printable(program) +
                     "': it runs WebAssembly modules, Python, JavaScript, Ruby and SQL",
                 "use the native tier");
  }
  if (::access((directory + interpreter->file).c_str(), R_OK) != 0) {
    return Error(ErrorCode::kUnsupported,
                 std::string(interpreter->language) + " for the wasm tier is not installed",
                 "run the program 'install' beside glovebox-wasm");
  }
  return {};
}

class ModuleRunner final : public Runner {
 public:
  ModuleRunner(bool deterministic, std::string directory)
      : deterministic_(deterministic), directory_(std::move(directory)) {}

  [[nodiscard]] Result<Command> command_for(const Command& command,
                                            const Limits& limits) const override {
    Command started = runner(limits);
    started.env = command.env;
    started.cwd = command.cwd;
    started.argv.emplace_back("--");
    const std::vector<std::string> arguments = GB_TRY(arguments_of(command));
    started.argv.insert(started.argv.end(), arguments.begin(), arguments.end());
    return started;
  }

  [[nodiscard]] Command waiting_in(const std::string& directory,
                                   const Limits& limits) const override {
    Command waiting = runner(limits);
    waiting.cwd = directory;
    waiting.argv.emplace_back(wasm::kWaitOption);
    return waiting;
  }

  [[nodiscard]] Result<std::string> beginning_of(const Command& command,
                                                 const std::vector<std::string>& environment,
                                                 std::string_view compiled) const override {
    return wasm::Beginning{.arguments = GB_TRY(arguments_of(command)),
                           .environment = environment,
                           .compiled = compiled}
        .encode();
  }

  [[nodiscard]] std::string compiling(const std::string& program) const override {
    return wasm::Beginning{.compiles = true, .arguments = {program}}.encode();
  }

  [[nodiscard]] policy::Filter filter() const override { return policy::runner_filter(); }

 private:
  // The module and its arguments, as the runner knows interpreters. A path names a module; a bare
  // name, as in a PATH, an interpreter.
  [[nodiscard]] Result<std::vector<std::string>> arguments_of(const Command& command) const {
    std::vector<std::string> arguments = command.argv;
    std::string& program = arguments.front();
    if (program.find('/') != std::string::npos) {
      return arguments;
    }
    GB_TRY(find_interpreter(directory_, program));
    if (program == "python") {
      program = "python3";
    }
    return arguments;
  }

  [[nodiscard]] Command runner(const Limits& limits) const {
    Command started{.argv = {std::string(kInside) + kRunner}, .env = {}, .cwd = {}};
    if (deterministic_) {
      const auto milliseconds = static_cast<std::uint64_t>(limits.wall.count());
      started.argv.push_back("--deterministic=" +
                             std::to_string(milliseconds * (kFuelPerSecond / 1000)));
    }
    return started;
  }

  bool deterministic_;
  std::string directory_;  // Where interpreters are installed.
};

}  // namespace

Result<TierFeatures> WasmTier::probe() {
  GB_TRY(find_directory());
  return NativeTier().probe();
}

Result<Tier::WarmInterpreter> WasmTier::warm_interpreter(std::string_view program) {
  const std::string directory = GB_TRY(find_directory());
  GB_TRY(find_interpreter(directory, program));
  return WarmInterpreter{.mount = {.source = directory, .target = kInside, .closed = true},
                         .starter = std::string(kInside) + kZygote,
                         .filter = policy::runner_filter()};
}

Result<Enclosure> WasmTier::enclose(const SandboxSpec& spec) {
  GB_TRY(refuse_what_native_alone_has(spec, name()));
  if (spec.live && spec.within == nullptr) {
    return Error(ErrorCode::kUnsupported,
                 "the wasm tier makes live sandboxes by forks of a warm interpreter only",
                 "use the native tier");
  }
  const std::string directory = GB_TRY(find_directory());
  SandboxSpec native = spec;
  // What a language shows of the host is for its programs.
  std::erase_if(native.mounts, [](const Mount& mount) { return !mount.target.starts_with(kOurs); });
  native.mounts.push_back({.source = directory, .target = kInside, .closed = true});
  Enclosure enclosure = GB_TRY(NativeTier().enclose(native));
  enclosure.seccomp = "wasm";
  enclosure.runner = std::make_unique<ModuleRunner>(spec.deterministic, directory);
  return enclosure;
}

}  // namespace glovebox
