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

#include "base/sys/installation.h"
#include "base/text.h"
#include "sandbox/tiers/native/native.h"

namespace glovebox {
namespace {

// Where the runner, its library and its interpreters are: of our installation, and inside.
constexpr const char* kDirectory = "/wasm";
constexpr std::string_view kOurs = "/opt/glovebox/";
constexpr const char* kInside = "/opt/glovebox/wasm";
constexpr const char* kRunner = "/glovebox-wasm";
constexpr const char* kZygote = "/glovebox-wasm-zygote";
constexpr const char* kLibrary = "/libwasmtime.so";
constexpr const char* kPython = "/python.cwasm";

// What a bare name stands for, as in a PATH.
struct Interpreter {
  std::string_view program;
  std::string_view language;
  const char* file;  // In our directory.
};
constexpr std::array<Interpreter, 4> kInterpreters = {{{"python3", "Python", kPython},
                                                       {"python", "Python", kPython},
                                                       {"qjs", "JavaScript", "/qjs.cwasm"},
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

Error is_missing(std::string_view language) {
  return {ErrorCode::kUnsupported, std::string(language) + " for the wasm tier is not installed",
          "run the program 'install' beside glovebox-wasm"};
}

class ModuleRunner final : public Runner {
 public:
  ModuleRunner(bool deterministic, std::string directory)
      : deterministic_(deterministic), directory_(std::move(directory)) {}

  // A path names a module; a bare name, as in a PATH, an interpreter.
  [[nodiscard]] Result<Command> command_for(const Command& command,
                                            const Limits& limits) const override {
    const std::string& program = command.argv.front();
    const auto* const interpreter =
        std::ranges::find(kInterpreters, program, &Interpreter::program);
    const bool is_module = program.find('/') != std::string::npos;
    if (!is_module && interpreter == kInterpreters.end()) {
      return Error(ErrorCode::kUnsupported,
                   "the wasm tier has no '" + printable(program) +
                       "': it runs WebAssembly modules, Python, JavaScript and SQL",
                   "use the native tier");
    }
    if (!is_module && ::access((directory_ + interpreter->file).c_str(), R_OK) != 0) {
      return is_missing(interpreter->language);
    }
    Command started{.argv = {std::string(kInside) + kRunner},
                    .env = command.env,
                    .cwd = command.cwd};
    if (deterministic_) {
      const auto milliseconds = static_cast<std::uint64_t>(limits.wall.count());
      started.argv.push_back("--deterministic=" +
                             std::to_string(milliseconds * (kFuelPerSecond / 1000)));
    }
    started.argv.emplace_back("--");
    started.argv.push_back(program == "python" ? "python3" : program);
    started.argv.insert(started.argv.end(), command.argv.begin() + 1, command.argv.end());
    return started;
  }

  [[nodiscard]] policy::Filter filter() const override { return policy::runner_filter(); }

 private:
  bool deterministic_;
  std::string directory_;  // Where interpreters are installed.
};

}  // namespace

Result<TierFeatures> WasmTier::probe() {
  GB_TRY(find_directory());
  return NativeTier().probe();
}

Result<Tier::WarmPython> WasmTier::warm_python() {
  const std::string directory = GB_TRY(find_directory());
  if (::access((directory + kPython).c_str(), R_OK) != 0) {
    return is_missing("Python");
  }
  return WarmPython{.mount = {.source = directory, .target = kInside, .closed = true},
                    .program = std::string(kInside) + kZygote,
                    .filter = policy::runner_filter()};
}

Result<Enclosure> WasmTier::enclose(const SandboxSpec& spec) {
  GB_TRY(refuse_what_native_alone_has(spec, name()));
  if (spec.live && spec.within == nullptr) {
    return Error(ErrorCode::kUnsupported,
                 "the wasm tier makes live sandboxes by forks of a warm Python only",
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
