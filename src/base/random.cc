// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <sys/random.h>

#include <cerrno>

#include "base/check.h"
#include "base/hex.h"

namespace glovebox {

void fill_random(std::span<unsigned char> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0) {
      // Anything else would be a mistake of ours: a bad address, an unknown flag.
      GB_CHECK(errno == EINTR);
      continue;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  fill_random({reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()});
  return bytes;
}

std::string random_hex(std::size_t bytes) { return to_hex(random_bytes(bytes)); }

std::string random_name() { return random_hex(16); }

}  // namespace glovebox
