// SPDX-License-Identifier: Apache-2.0
// Ranges of host ids for sandboxes with several users of their own.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// 65,536 user and group ids that no other living sandbox has, on the whole host: whatever their
// runtime directories, all programs of root's lock the range that they use
// (/run/glovebox/.ids/). The ranges are above those of slots and of systemd (systemd.io/UIDS-GIDS);
// what /etc/subuid and /etc/subgid give to others is left out. Ends with its last holder.
class IdRange {
 public:
  // An empty one, to be assigned to.
  IdRange() = default;

  // Takes a free range. Requires root, and GuestIds::has_ranges. Fails with kExhausted when none is
  // free, and with kUnavailable when the locks cannot be had.
  static Result<IdRange> take();

  IdRange(IdRange&& other) noexcept = default;
  IdRange& operator=(IdRange&& other) noexcept;
  IdRange(const IdRange&) = delete;
  IdRange& operator=(const IdRange&) = delete;
  ~IdRange();

  // Removes the files of killed holders, which no longer lock anything. Requires root.
  static void sweep();

  // Zero for an empty one.
  [[nodiscard]] uid_t first() const { return first_; }

  static constexpr uid_t kSize = 1U << 16;
  static constexpr uid_t kFirst = 0x71000000;
  static constexpr std::uint32_t kRanges = 0xE00;

 private:
  IdRange(uid_t first, UniqueFd directory, UniqueFd file)
      : first_(first), directory_(std::move(directory)), file_(std::move(file)) {}
  void give_back() noexcept;

  uid_t first_ = 0;
  UniqueFd directory_;
  UniqueFd file_;
};

}  // namespace glovebox
