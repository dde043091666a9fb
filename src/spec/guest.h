// SPDX-License-Identifier: Apache-2.0
// Who and where a guest is, inside every sandbox.
#pragma once

#include <string_view>

namespace glovebox {

// Its home and current directory.
inline constexpr std::string_view kWorkspace = "/workspace";

// PATH, unless a language or a caller says otherwise.
inline constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

inline constexpr unsigned kGuestUid = 1000;
inline constexpr unsigned kGuestGid = 1000;

}  // namespace glovebox
