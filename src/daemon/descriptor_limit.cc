// SPDX-License-Identifier: Apache-2.0
#include "daemon/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace glovebox {
namespace {

// Enough for all connections that a daemon takes, most of which may hold a second descriptor.
constexpr rlim_t kWanted = 65'536;

}  // namespace

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return 1024;
  }
  for (const rlim_t most : {std::max(limit.rlim_max, kWanted), limit.rlim_max}) {
    const rlimit wanted{.rlim_cur = most, .rlim_max = most};
    if (::setrlimit(RLIMIT_NOFILE, &wanted) == 0) {
      return most;
    }
  }
  return limit.rlim_cur;
}

}  // namespace glovebox
