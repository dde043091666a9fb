// SPDX-License-Identifier: Apache-2.0
// Randomness of the kernel (getrandom(2)), good enough for secrets. Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace glovebox {

// Waits if the kernel has no randomness yet, as soon after the machine started.
void fill_random(std::span<unsigned char> bytes);

[[nodiscard]] std::string random_bytes(std::size_t count);
// This many random bytes, as hexadecimal digits.
[[nodiscard]] std::string random_hex(std::size_t bytes);

// A name that nobody can guess and nothing else has: 128 bits, as hexadecimal digits.
[[nodiscard]] std::string random_name();

}  // namespace glovebox
