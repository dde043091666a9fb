// SPDX-License-Identifier: Apache-2.0
// Directories whose content somebody else may be renaming, used through their descriptors.
//
// A name here is one component, and is never followed if it is a link.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/sys/raw.h"
#include "base/unique_fd.h"

namespace glovebox::warden {

// Calls `visit(name)` for each entry, from where the descriptor stands, until it returns false.
template <typename Visit>
void for_each_name(int directory, Visit visit) {
  // The kernel's layout (getdents64(2)): inode, offset, length of the entry, type, name.
  constexpr std::size_t kLengthOffset = 16;
  constexpr std::size_t kNameOffset = 19;
  std::array<char, 8 * 1024> buffer;  // Small: walks nest.
  for (;;) {
    const long got = sys::raw(SYS_getdents64, directory, buffer.data(), buffer.size());
    if (got <= 0) {
      return;
    }
    for (long at = 0; at < got;) {
      std::uint16_t length = 0;
      std::memcpy(&length, buffer.data() + at + kLengthOffset, sizeof length);
      const std::string_view name(buffer.data() + at + kNameOffset);
      at += length;
      if (name != "." && name != ".." && !visit(name)) {
        return;
      }
    }
  }
}

// Opens whatever is called `name` at this moment. A mode that keeps its owner out is widened for as
// long as that takes. On failure, returns no descriptor, and sets errno.
UniqueFd open_anyway(int directory, const std::string& name, int flags);

// Opens a directory on which we need the rights `need` (of 0700). If its mode lacks them, it stays
// widened, because every look at a name asks for it again; `status` has the mode from before.
UniqueFd open_directory(int parent, const std::string& name, mode_t need, struct stat& status);

inline std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// When a piece of work must be finished.
class Deadline {
 public:
  explicit Deadline(std::int64_t from_now_ns);
  [[nodiscard]] bool passed() const;

 private:
  std::int64_t at_ns_;
};

}  // namespace glovebox::warden
