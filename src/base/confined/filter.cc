// SPDX-License-Identifier: Apache-2.0
#include "base/confined/filter.h"

#include "base/sys/raw.h"

namespace glovebox::confined {

Result<void> install_filter(std::span<const sock_filter> filter) {
  const struct {
    unsigned short length;
    const sock_filter* filter;
  } program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (const long r = sys::raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program); r < 0) {
    return Error::from_errno("seccomp", static_cast<int>(-r));
  }
  return {};
}

}  // namespace glovebox::confined
