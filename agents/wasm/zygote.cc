// SPDX-License-Identifier: Apache-2.0
// glovebox-wasm-zygote: an interpreter of the tier wasm that is warm, and from which contexts are
// forked.
//
//   glovebox-wasm-zygote INTERPRETER [ARGUMENT…], with a socket to glovebox as descriptor 3
//
// It starts the interpreter with an agent of ours. When the agent first reads its standard input,
// this process begins to serve requests for forks (context/zygote_protocol.h); in a fork, the read
// continues, from the fork's own channel. It runs no code of a guest's.
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/wire.h"
#include "sandbox/wasm/confinement.h"
#include "sandbox/wasm/engine.h"
#include "sandbox/wasm/installed.h"
#include "sandbox/wasm/running.h"
#include "sandbox/wasm/wasi.h"
#include "sandbox/wasm/wasmtime.h"
#include "sandbox/wasm/world.h"
#include "serving.h"

namespace glovebox::wasm {
namespace {

constexpr int kSocket = 3;

// Where it starts, so that its agent finds its files. What a module sees of them ends with the
// fork, which begins elsewhere.
constexpr const char* kAgents = "/opt/glovebox/agents";

// What the agent reads first: 32 random digits, since any randomness that it has is every fork's;
// the directory where it begins; and its environment.
std::string beginning_of(const zygote::ForkRequest& request) {
  std::string text = random_hex(16) + '\0' + request.cwd;
  for (const std::string& variable : request.env) {
    text += '\0' + variable;
  }
  WireWriter size;
  size.u32(static_cast<std::uint32_t>(text.size()));
  return size.take() + text;
}

Result<void> begin(Wasi& wasi, const zygote::ForkRequest& request) {
  GB_TRY(give_up_programs());
  GB_TRY(give_up_new_code());
  GB_TRY(wasi.open_directories());
  wasi.connect_input(kSocket, beginning_of(request));
  return {};
}

void serve(Wasi& wasi, std::string_view interpreter) {
  const auto request = zygote::serve_forks(kSocket, {.version = interpreter});
  if (!request) {
    ::_exit(0);
  }
  if (const auto begun = begin(wasi, *request); !begun) {
    ::_exit(complain(begun.error()));
  }
}

Result<int> run(std::vector<std::string> command) {
  if (::chdir(kAgents) != 0) {
    return Error::from_errno(std::string("enter ") + kAgents);
  }
  const std::string interpreter = command.front();
  const std::string directory = GB_TRY(own_directory());
  const Wasmtime api = GB_TRY(Wasmtime::load(directory + kLibrary));
  Engine* const engine = make_engine(api, Mode::kPlain);
  const Module* const module =
      GB_TRY(load_precompiled(api, engine, precompiled(directory, interpreter, Mode::kPlain)));
  static RealWorld world;
  static Wasi wasi(api, world, {.arguments = std::move(command)});
  GB_TRY(wasi.open_directories());
  wasi.before_first_read([&interpreter] { serve(wasi, interpreter); });
  return run_module(api, engine, module, wasi, {});
}

}  // namespace
}  // namespace glovebox::wasm

int main(int argc, char** argv) {
  if (argc < 2) {
    glovebox::wasm::say("usage: glovebox-wasm-zygote INTERPRETER [ARGUMENT…]");
    return glovebox::wasm::kCannotRun;
  }
  const auto status = glovebox::wasm::run({argv + 1, argv + argc});
  ::_exit(status ? *status : glovebox::wasm::complain(status.error()));
}
