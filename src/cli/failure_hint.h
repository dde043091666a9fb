// SPDX-License-Identifier: Apache-2.0
// What a program that failed may have lacked: packages and a network are the usual surprises.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::cli {

// A sentence for people about what a program wrote to its standard error, or nothing. That text is
// the guest's: only a package's name without special characters is repeated from it. `network` is
// that of the verdict's walls.
std::string failure_hint(std::string_view errors, std::string_view network);

}  // namespace glovebox::cli
