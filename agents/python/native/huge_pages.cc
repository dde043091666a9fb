// SPDX-License-Identifier: Apache-2.0
#include "huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace glovebox::zygote {
namespace {

constexpr int kCollapse = 25;  // MADV_COLLAPSE; not in Debian 12's headers.
constexpr std::uintptr_t kHuge = 2UL << 20;

}  // namespace

void collapse_memory() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    std::istringstream fields(line);
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::string protection;
    std::string offset;
    std::string device;
    std::string inode;
    std::string name;
    fields >> std::hex >> start >> dash >> end >> protection >> offset >> device >> inode >> name;
    if (protection != "rw-p" || (!name.empty() && name != "[heap]")) {
      continue;
    }
    const std::uintptr_t first = (start + kHuge - 1) / kHuge * kHuge;
    const std::uintptr_t last = end / kHuge * kHuge;
    for (std::uintptr_t at = first; at < last; at += kHuge) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that /proc tells.
      (void)::madvise(reinterpret_cast<void*>(at), kHuge, kCollapse);
    }
  }
}

}  // namespace glovebox::zygote
