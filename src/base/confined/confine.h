// SPDX-License-Identifier: Apache-2.0
// The inside of a confined program: what it gives up before it reads a byte that may be crafted to
// hurt it. run_confined() (base/confined/program.h) is the outside.
#pragma once

#include <cstdint>
#include <span>

#include "base/confined/filter.h"
#include "base/result.h"

namespace glovebox::confined {

// Bounds that the kernel keeps (getrlimit(2)).
struct Bounds {
  std::uint64_t memory = 0;       // Bytes of address space.
  std::uint64_t cpu_seconds = 0;  // Of processor time; at their end it is killed.
  std::uint64_t file_size = 0;    // Bytes of any one file that it writes.
  // By the kernel, which takes the end of the thread that started it for the end of its parent.
  // False for a program that notices by a socket.
  bool ends_with_parent = true;
  unsigned descriptors = 3;  // How many it keeps: 0, 1 and so on. The others are closed.
};

enum class Root {
  kKeep,   // For a program whose filter opens nothing.
  kEnter,  // The working directory becomes the root of the file system, and nothing else is there.
};

// Leaves this process only the bounds, the root and the calls of the filter: no capabilities, no
// way to gain any, and it ends when its parent ends (unless the bounds say otherwise). Irrevocable
// even if it fails: the caller must then end. Works for root and, if user namespaces are allowed,
// for anybody. Requires a single thread.
Result<void> confine_self(const Bounds& bounds, Root root, std::span<const sock_filter> filter);

// Says on standard error why the work failed, and returns the exit status by which run_confined()
// knows the error's code; 0 for success.
int exit_status_of(const Result<void>& done);

}  // namespace glovebox::confined
