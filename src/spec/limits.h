// SPDX-License-Identifier: Apache-2.0
// Limits: what one execution, or one sandbox, may use. A plain value without kernel types.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace glovebox {

struct Limits {
  // Time since the start, whatever the guest does. It ends guests that sleep, too.
  std::chrono::milliseconds wall{30'000};

  // Time on processors, summed over all processes and threads. Zero: bounded by `wall` alone.
  std::chrono::milliseconds cpu_time{0};

  // Memory of all processes together, with the pages of files in the sandbox's tmpfs. No swap.
  Bytes memory = 512_MiB;

  // Processors' worth of time in each period: 0.5 is half of one.
  double cpus = 1.0;

  // Processes and threads alive at once.
  std::uint32_t pids = 256;

  // Bytes and files in everything that the guest may write.
  Bytes disk = 256_MiB;
  std::uint32_t inodes = 65'536;

  // Descriptors open at once in one process.
  std::uint32_t open_files = 1'024;

  // Bytes kept of each output stream, half from its head and half from its tail.
  Bytes output = 1_MiB;

  // Bytes a second from and to each block device; zero is unlimited.
  Bytes io_rate{0};

  friend bool operator==(const Limits&, const Limits&) = default;
};

// Fails with kInvalid, naming the first field that could never let a guest start, or that is
// larger than the kernel can express. `prefix` goes before the field's name: "compile-".
Result<void> validate(const Limits& limits, std::string_view prefix = {});

}  // namespace glovebox
