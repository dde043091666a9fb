// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cache_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"

namespace glovebox {

std::string cache_directory(const std::string& name) {
  // NOLINTBEGIN(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  // NOLINTEND(concurrency-mt-unsafe)
  if (cache != nullptr && *cache == '/') {
    return std::string(cache) + "/glovebox/" + name;
  }
  if (::geteuid() != 0 && home != nullptr && *home == '/') {
    return std::string(home) + "/.cache/glovebox/" + name;
  }
  return "/var/cache/glovebox/" + name;
}

Result<void> make_cache_directories(const std::string& path, std::uint32_t mode) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    const bool is_last = slash == std::string::npos;
    if (::mkdir(part.c_str(), is_last ? mode : 0755) != 0 && errno != EEXIST) {
      return Error::from_errno("create " + printable(part)).with_hint(kCacheHint);
    }
    if (is_last) {
      return {};
    }
  }
}

Result<std::string> own_cache_directory(const std::string& name, std::uint32_t mode) {
  std::string path = cache_directory(name);
  GB_TRY(make_cache_directories(path, mode));
  return path;
}

}  // namespace glovebox
