// SPDX-License-Identifier: Apache-2.0
#include "service/random_name.h"

#include <sys/random.h>

#include <array>
#include <string_view>

#include "base/check.h"

namespace glovebox {

std::string random_name() {
  std::array<unsigned char, 16> bytes{};
  // So few bytes come whole, once the kernel has any (getrandom(2)).
  GB_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string name;
  for (const unsigned char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    name += kDigits[byte >> 4U];
    name += kDigits[byte & 15U];
  }
  return name;
}

}  // namespace glovebox
