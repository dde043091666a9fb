// SPDX-License-Identifier: Apache-2.0
#include "service/runs/analyser_program.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <vector>

#include "base/sys/installation.h"

namespace glovebox {
namespace {

constexpr const char* kProgram = "/glovebox-analyser";

Result<std::string> find_analyser() {
  for (const std::string& directory : GB_TRY(sys::installed_directories())) {
    const std::string candidate = directory + "/analyser";
    std::array<char, PATH_MAX> resolved{};
    if (::access((candidate + kProgram).c_str(), X_OK) == 0 &&
        ::realpath(candidate.c_str(), resolved.data()) != nullptr) {
      return std::string(resolved.data());
    }
  }
  return Error(ErrorCode::kUnsupported, "the program glovebox-analyser was not found",
               "install it in /usr/libexec/glovebox/analyser, next to glovebox's other programs");
}

const Result<std::string>& analyser_directory() {
  static const Result<std::string> kDirectory = find_analyser();
  return kDirectory;
}

}  // namespace

Result<Mount> analyser_mount() {
  const std::string directory = GB_TRY(Result<std::string>(analyser_directory()));
  return Mount{.source = directory, .target = directory};
}

Result<std::string> analyser_path() {
  return GB_TRY(Result<std::string>(analyser_directory())) + kProgram;
}

}  // namespace glovebox
