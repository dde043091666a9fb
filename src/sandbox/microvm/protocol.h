// SPDX-License-Identifier: Apache-2.0
// What glovebox and the first program of a micro virtual machine say to each other, over a port of
// the machine that no guest reaches, beside the warden's own stream and that of the files.
//
//   glovebox -> machine   an Order: a size (u32) and that many bytes;
//   glovebox -> machine   from then on Questions, one byte each; after kLimit two numbers (u64),
//                         memory and pids; after kRenew the time (u64) and kSeedSize bytes;
//   machine -> glovebox   Counts for each kCount, and a byte for each kRenew, once it is done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::microvm {

// Numbers of the ports, and so the names of their devices in the machine.
inline constexpr int kControlPort = 1;
inline constexpr int kMachinePort = 2;
inline constexpr int kFilesPort = 3;

// Where our programs are in the files shown to the machine.
inline constexpr std::string_view kPrograms = "/run/programs";
// The kernel's driver of the balloon, which is optional.
inline constexpr std::string_view kBalloon = "/run/programs/microvm/balloon.ko";

inline constexpr std::size_t kMaxOrder = 64UL * 1024;
inline constexpr std::size_t kSeedSize = 64;

struct Order {
  std::uint64_t time_ns = 0;  // Since 1970.
  std::uint64_t memory = 0;   // Bytes of all guests together.
  std::uint64_t pids = 0;     // Likewise.
  std::uint64_t disk = 0;     // Bytes of all that guests may write.
  std::uint64_t inodes = 0;   // Likewise.
  std::string hostname;
  std::string seed;                // kSeedSize bytes that nobody else knows.
  std::vector<std::string> shown;  // Directories in /run that the guests see, where they are.

  [[nodiscard]] std::string encode() const;
  static Result<Order> decode(std::string_view bytes);
};

// kRenew is for a machine that was saved and continues.
enum class Question : char { kCount = 'c', kLimit = 'l', kRenew = 'r' };

// In the order on the wire, as numbers of eight bytes.
enum class Count : std::size_t {
  kCpuUs,
  kMemoryNow,
  kMemoryPeak,
  kPidsNow,
  kPidsPeak,
  kOomKills,
  kPidsRefusals,
};
using Counts = std::array<std::uint64_t, 7>;

}  // namespace glovebox::microvm
