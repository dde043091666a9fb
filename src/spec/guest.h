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

// Of a guest that is root inside.
inline constexpr std::string_view kRootHome = "/root";
inline constexpr std::string_view kRootPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace glovebox
