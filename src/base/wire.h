// SPDX-License-Identifier: Apache-2.0
// The inner wire format: how values become bytes between our own programs.
//
// Integers are little-endian and of fixed width; a string is its length (u32) and its bytes; a list
// is its count (u32) and its items. There is no padding and no self-description: both ends are
// built together. A Reader treats its bytes as hostile, since a warden could have been taken over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox {

// Appends values to a string.
class WireWriter {
 public:
  void u8(std::uint8_t value) { put(value, 1); }
  void u32(std::uint32_t value) { put(value, 4); }
  void u64(std::uint64_t value) { put(value, 8); }
  void text(std::string_view value);
  void texts(const std::vector<std::string>& values);

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  void put(std::uint64_t value, int width);
  std::string bytes_;
};

// Reads values back. After the first thing that does not fit, every further value is zero or empty
// and ok() is false, so that a decoder checks once, at its end.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(get(1)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(get(4)); }
  std::uint64_t u64() { return get(8); }
  std::string_view text();
  // At most `most` items.
  std::vector<std::string> texts(std::size_t most);

  // True when nothing was missing and nothing is left over.
  [[nodiscard]] bool complete() const { return ok_ && bytes_.empty(); }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::uint64_t get(std::size_t width);
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace glovebox
