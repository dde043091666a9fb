// SPDX-License-Identifier: Apache-2.0
#include "daemon/descriptor_limit.h"

#include <sys/resource.h>

namespace glovebox {

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return 1024;
  }
  rlimit wanted = limit;
  wanted.rlim_cur = wanted.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &wanted) == 0 ? wanted.rlim_cur : limit.rlim_cur;
}

}  // namespace glovebox
