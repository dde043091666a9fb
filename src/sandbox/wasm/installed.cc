// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm/installed.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/unique_fd.h"

namespace glovebox::wasm {

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

std::string precompiled(const std::string& directory, std::string_view interpreter, Mode mode) {
  const std::string_view name = interpreter == kPython ? "python" : interpreter;
  return directory + "/" + std::string(name) +
         (mode == Mode::kPlain ? ".cwasm" : "-deterministic.cwasm");
}

Result<Module*> load_precompiled(const Wasmtime& api, Engine* engine, const std::string& path) {
  Module* module = nullptr;
  auto loaded = api.check(api.wasmtime_module_deserialize_file(engine, path.c_str(), &module),
                          "load " + path);
  return loaded ? Result<Module*>(module)
                : std::move(loaded).error().with_hint(
                      "run the program 'install' beside "
                      "glovebox-wasm again");
}

}  // namespace glovebox::wasm
