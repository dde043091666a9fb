// SPDX-License-Identifier: Apache-2.0
// The memory of a module, as a function that the module calls sees it: every place and size comes
// from the module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace glovebox::wasm {

template <typename Number>
Number get(std::span<const unsigned char> bytes, std::size_t at) {
  Number number{};
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

template <typename Number>
void put(std::span<unsigned char> bytes, std::size_t at, std::type_identity_t<Number> number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

class GuestMemory {
 public:
  GuestMemory() = default;
  explicit GuestMemory(std::span<unsigned char> all) : all_(all) {}

  // A piece of it; nothing when it reaches beyond the end.
  [[nodiscard]] std::optional<std::span<unsigned char>> at(std::uint32_t where,
                                                           std::uint64_t size) const {
    return where <= all_.size() && size <= all_.size() - where
               ? std::optional(all_.subspan(where, size))
               : std::nullopt;
  }

  // False when the number would lie beyond the end.
  template <typename Number>
  [[nodiscard]] bool store(std::uint32_t where, std::type_identity_t<Number> number) const {
    const auto place = at(where, sizeof(Number));
    if (place) {
      put<Number>(*place, 0, number);
    }
    return place.has_value();
  }

 private:
  std::span<unsigned char> all_;
};

}  // namespace glovebox::wasm
