// SPDX-License-Identifier: Apache-2.0
// operator new and delete of a freestanding program with one thread.
//
// Sizes are rounded up to powers of two, and each has a list of free blocks; large ones are mapped
// and unmapped one by one. Every deallocation knows its size, so blocks carry none.
#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstddef>
#include <new>

#include "base/sys/raw.h"
#include "warden/freestanding/runtime.h"

namespace {

constexpr std::size_t kSmallest = 32;
constexpr std::size_t kLargest = 64 * 1024;  // Of what comes from a list.
constexpr std::size_t kChunk = 256 * 1024;
constexpr std::size_t kPage = 4096;

struct FreeBlock {
  FreeBlock* next;
};

std::array<FreeBlock*, std::bit_width(kLargest)> free_blocks;

// Where new small blocks are cut from; the first one costs no system call.
alignas(64) std::array<std::byte, 16 * 1024> first_chunk;
std::byte* chunk = first_chunk.data();
std::size_t chunk_left = first_chunk.size();

void* map(std::size_t size) {
  const long at = glovebox::sys::raw(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at < 0 && at > -4096) {
    glovebox::warden::die("out of memory");
  }
  return reinterpret_cast<void*>(at);
}

std::size_t pages(std::size_t size) { return (size + kPage - 1) & ~(kPage - 1); }

std::size_t rounded(std::size_t size) { return size < kSmallest ? kSmallest : std::bit_ceil(size); }

}  // namespace

void* operator new(std::size_t size) {
  if (size > kLargest) {
    return map(pages(size));
  }
  const std::size_t block = rounded(size);
  FreeBlock*& list = free_blocks[std::bit_width(block) - 1];
  if (list != nullptr) {
    FreeBlock* const taken = list;
    list = taken->next;
    return taken;
  }
  if (chunk_left < block) {
    chunk = static_cast<std::byte*>(map(kChunk));
    chunk_left = kChunk;
  }
  void* const cut = chunk;
  chunk += block;
  chunk_left -= block;
  return cut;
}

void operator delete(void* pointer, std::size_t size) noexcept {
  if (pointer == nullptr) {
    return;
  }
  if (size > kLargest) {
    (void)glovebox::sys::raw(SYS_munmap, pointer, pages(size));
    return;
  }
  FreeBlock*& list = free_blocks[std::bit_width(rounded(size)) - 1];
  auto* const block = static_cast<FreeBlock*>(pointer);
  block->next = list;
  list = block;
}

// Only an object deleted through a base class would come here; there is none.
void operator delete(void* /*pointer*/) noexcept { glovebox::warden::die("unsized delete"); }
