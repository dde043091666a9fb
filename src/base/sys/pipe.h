// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

// Ends that are closed on exec.
struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

inline Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error::from_errno("create a pipe");
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace glovebox::sys
