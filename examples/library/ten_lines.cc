// SPDX-License-Identifier: Apache-2.0
// Glovebox as a library: a sandbox, one Python program in it, its output and the walls' tier.
#include <iostream>

#include "sandbox/sandbox.h"

int main() {
  const auto sandbox = glovebox::Sandbox::create({}, {});
  if (!sandbox) {
    std::cerr << sandbox.error().message() << "\n";
    return 1;
  }
  const auto run =
      (*sandbox)->run({.argv = {"python3", "-c", "print(6*7)"}, .env = {}, .cwd = {}}, {});
  std::cout << (run ? run->out.bytes : run.error().message()) << (*sandbox)->tier() << "\n";
  return run && run->exit_code == 0 ? 0 : 1;
}
