// SPDX-License-Identifier: Apache-2.0
#include "base/wire.h"

namespace glovebox {

void WireWriter::put(std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i) {
    bytes_.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  }
}

void WireWriter::text(std::string_view value) {
  u32(static_cast<std::uint32_t>(value.size()));
  bytes_.append(value);
}

void WireWriter::texts(const std::vector<std::string>& values) {
  u32(static_cast<std::uint32_t>(values.size()));
  for (const std::string& value : values) {
    text(value);
  }
}

std::uint64_t WireReader::get(std::size_t width) {
  if (!ok_ || bytes_.size() < width) {
    ok_ = false;
    return 0;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
  }
  bytes_.remove_prefix(width);
  return value;
}

std::string_view WireReader::text() {
  const std::uint32_t size = u32();
  if (!ok_ || bytes_.size() < size) {
    ok_ = false;
    return {};
  }
  const std::string_view value = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return value;
}

std::vector<std::string> WireReader::texts(std::size_t most) {
  const std::uint32_t count = u32();
  // Each item takes four bytes at least, so a count beyond that is a lie, not a reason to allocate.
  if (!ok_ || count > most || count > bytes_.size() / 4) {
    ok_ = false;
    return {};
  }
  std::vector<std::string> values;
  values.reserve(count);
  for (std::uint32_t i = 0; i < count && ok_; ++i) {
    values.emplace_back(text());
  }
  return values;
}

}  // namespace glovebox
