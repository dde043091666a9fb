// SPDX-License-Identifier: Apache-2.0
// glovebox-wasm-zygote: a Python of the tier wasm that is warm, and from which contexts are forked.
//
//   glovebox-wasm-zygote AGENT, with a socket to glovebox as descriptor 3
//
// It starts Python with the text of AGENT. When that first reads its standard input, this process
// serves requests for forks (context/zygote_protocol.h); in a fork, the read goes on, from the
// fork's own channel. It runs no code of a guest's.
#include <unistd.h>

#include <string>
#include <utility>

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

// What the agent reads first: where it begins, and its environment.
std::string beginning_of(const zygote::ForkRequest& request) {
  std::string text = request.cwd;
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

void serve(Wasi& wasi) {
  const auto request = zygote::serve_forks(kSocket, {.version = kPython});
  if (!request) {
    ::_exit(0);
  }
  if (const auto begun = begin(wasi, *request); !begun) {
    ::_exit(complain(begun.error()));
  }
}

Result<int> run(const char* agent) {
  const std::string text = GB_TRY(read_file(agent));
  const std::string directory = GB_TRY(own_directory());
  const Wasmtime api = GB_TRY(Wasmtime::load(directory + kLibrary));
  Engine* const engine = make_engine(api, Mode::kPlain);
  const Module* const module =
      GB_TRY(load_precompiled(api, engine, precompiled(directory, kPython, Mode::kPlain)));
  static RealWorld world;
  static Wasi wasi(api, world, {.arguments = {std::string(kPython), "-B", "-c", text}});
  GB_TRY(wasi.open_directories());
  wasi.before_first_read([] { serve(wasi); });
  return run_module(api, engine, module, wasi, {});
}

}  // namespace
}  // namespace glovebox::wasm

int main(int argc, char** argv) {
  if (argc != 2) {
    glovebox::wasm::say("usage: glovebox-wasm-zygote AGENT");
    return glovebox::wasm::kCannotRun;
  }
  const auto status = glovebox::wasm::run(argv[1]);
  ::_exit(status ? *status : glovebox::wasm::complain(status.error()));
}
