// SPDX-License-Identifier: Apache-2.0
// A directory of a fuzz target's own, in memory where that is possible.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "require.h"

// Removed when this goes.
struct Scratch {
  Scratch() {
    std::string name = std::filesystem::exists("/dev/shm") ? "/dev/shm/glovebox-fuzz-XXXXXX"
                                                           : "/tmp/glovebox-fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Scratch() { std::filesystem::remove_all(path); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::filesystem::path path;
};
