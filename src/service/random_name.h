// SPDX-License-Identifier: Apache-2.0
// Names that nobody guesses and nothing else bears.
#pragma once

#include <string>

namespace glovebox {

// 128 random bits, in hexadecimal digits.
std::string random_name();

}  // namespace glovebox
