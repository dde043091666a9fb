// SPDX-License-Identifier: Apache-2.0
#include "huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace glovebox::zygote {
namespace {

constexpr int kCollapse = 25;  // MADV_COLLAPSE; not in Debian 12's headers.
constexpr std::uintptr_t kHuge = 2UL << 20;
constexpr std::size_t kPages = kHuge / 4096;

// Smaller ones are seldom a guest's data, and soon written to again.
constexpr std::uintptr_t kLarge = 16UL << 20;
constexpr std::ptrdiff_t kNearlyAll = kPages / 8 * 7;

void* pointer_to(std::uintptr_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that /proc tells.
  return reinterpret_cast<void*>(address);
}

bool nearly_all_used(std::uintptr_t at) {
  std::array<unsigned char, kPages> resident{};
  return ::mincore(pointer_to(at), kHuge, resident.data()) == 0 &&
         std::ranges::count_if(resident, [](unsigned char page) { return (page & 1) != 0; }) >=
             kNearlyAll;
}

struct Mapping {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  bool heap = false;  // That of brk(2).
};

// Collapses the huge pages that would fit in the private, anonymous mappings for which `wanted` is
// true, if `fit` is true for their addresses. Takes neighbours together, since each call waits for
// all processors.
template <typename Wanted, typename Fit>
void collapse(const Wanted& wanted, const Fit& fit) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    std::istringstream fields(line);
    Mapping mapping;
    char dash = 0;
    std::string protection;
    std::string offset;
    std::string device;
    std::string inode;
    std::string name;
    fields >> std::hex >> mapping.start >> dash >> mapping.end >> protection >> offset >> device >>
        inode >> name;
    mapping.heap = name == "[heap]";
    if (protection != "rw-p" || (!name.empty() && !mapping.heap) || !wanted(mapping)) {
      continue;
    }
    const std::uintptr_t last = mapping.end / kHuge * kHuge;
    std::uintptr_t at = (mapping.start + kHuge - 1) / kHuge * kHuge;
    while (at < last) {
      std::uintptr_t end = at;
      while (end < last && fit(end)) {
        end += kHuge;
      }
      if (end > at) {
        (void)::madvise(pointer_to(at), end - at, kCollapse);
      }
      at = end + kHuge;
    }
  }
}

}  // namespace

void collapse_memory() {
  collapse([](const Mapping&) { return true; }, [](std::uintptr_t) { return true; });
}

void collapse_large_mappings() {
  // In memory, so that copies know it too.
  static std::set<std::uintptr_t> done;
  collapse([](const Mapping& each) { return !each.heap && each.end - each.start >= kLarge; },
           [](std::uintptr_t at) {
             return !done.contains(at) && nearly_all_used(at) && done.insert(at).second;
           });
}

}  // namespace glovebox::zygote
