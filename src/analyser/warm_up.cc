// SPDX-License-Identifier: Apache-2.0
#include "analyser/warm_up.h"

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

// From the linker: where the program's code begins and ends.
extern "C" const char __executable_start[];
extern "C" const char etext[];

namespace glovebox::analyser {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHeap = std::size_t{1536} << 10;  // For some 1,000 lines of Python.
constexpr std::size_t kStack = std::size_t{128} << 10;

// Brings in the whole pages in between.
void bring_in(const void* begin, const void* end, int advice) {
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + kPage - 1) / kPage * kPage;
  const auto last = reinterpret_cast<std::uintptr_t>(end) / kPage * kPage;
  if (first < last) {
    (void)::madvise(reinterpret_cast<void*>(first), last - first, advice);
  }
}

[[gnu::noinline]] void bring_in_stack() {
  std::array<volatile char, kStack> stack;
  for (std::size_t at = 0; at < stack.size(); at += kPage) {
    stack[at] = 0;
  }
}

}  // namespace

void warm_up() {
  bring_in(__executable_start, etext, MADV_POPULATE_READ);
  // The heap keeps what is given back (main.cc).
  if (char* const heap = static_cast<char*>(std::malloc(kHeap))) {
    bring_in(heap, heap + kHeap, MADV_POPULATE_WRITE);
    std::free(heap);
  }
  bring_in_stack();
}

}  // namespace glovebox::analyser
