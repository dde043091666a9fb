// SPDX-License-Identifier: Apache-2.0
// Where `glovebox serve` keeps its lasting data, and where its clients look for it.
#pragma once

#include <string>

namespace glovebox::cli {

// /var/lib/glovebox as root, else ~/.glovebox.
[[nodiscard]] std::string default_data_directory();

// The same in words, for help that does not depend on the user: manual pages are made from it.
inline constexpr char kDefaultDataDirectory[] =
    " [default: /var/lib/glovebox as root, ~/.glovebox otherwise]";

// The socket at which the daemon of a data directory answers without a key.
[[nodiscard]] std::string daemon_socket(const std::string& data_directory);

}  // namespace glovebox::cli
