// SPDX-License-Identifier: Apache-2.0
// The directory in which a user's programs keep what they can make again.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace glovebox {

// $XDG_CACHE_HOME/glovebox/NAME; else /var/cache/glovebox/NAME for root and ~/.cache/glovebox/NAME
// for others.
std::string cache_directory(const std::string& name);

// Makes it with that mode, if it is not there yet. By default others may read it, because a guest
// of root's is another user; only we may write.
Result<std::string> own_cache_directory(const std::string& name, std::uint32_t mode = 0755);

// Likewise the directory at an absolute path, with those above it.
Result<void> make_cache_directories(const std::string& path, std::uint32_t mode = 0755);

// For an error of such a directory.
inline constexpr const char* kCacheHint = "set XDG_CACHE_HOME to a writable directory";

}  // namespace glovebox
