// SPDX-License-Identifier: Apache-2.0
// The functions of <cstring> that compilers and the standard library call by themselves.
#include <cstddef>
#include <cstdint>

extern "C" {

void* memcpy(void* to, const void* from, std::size_t size) {
  void* const result = to;
  // Fast on every processor since Ivy Bridge ("enhanced rep movsb").
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
  return result;
}

void* memmove(void* to, const void* from, std::size_t size) {
  if (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from) >= size) {
    return memcpy(to, from, size);
  }
  auto* const target = static_cast<unsigned char*>(to);
  const auto* const source = static_cast<const unsigned char*>(from);
  while (size > 0) {
    --size;
    target[size] = source[size];
  }
  return to;
}

void* memset(void* to, int value, std::size_t size) {
  void* const result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
  return result;
}

int memcmp(const void* left, const void* right, std::size_t size) {
  const auto* const a = static_cast<const unsigned char*>(left);
  const auto* const b = static_cast<const unsigned char*>(right);
  for (std::size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) {
      return a[i] < b[i] ? -1 : 1;
    }
  }
  return 0;
}

// <cstring> has overloads of this one, so it is named as the linker knows it.
void* find_byte(const void* in, int value, std::size_t size) asm("memchr");
void* find_byte(const void* in, int value, std::size_t size) {
  const auto* const bytes = static_cast<const unsigned char*>(in);
  for (std::size_t i = 0; i < size; ++i) {
    if (bytes[i] == static_cast<unsigned char>(value)) {
      return const_cast<unsigned char*>(bytes + i);
    }
  }
  return nullptr;
}

std::size_t strlen(const char* text) {
  std::size_t size = 0;
  while (text[size] != '\0') {
    ++size;
  }
  return size;
}

}  // extern "C"
