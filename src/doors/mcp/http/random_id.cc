// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/random_id.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "base/check.h"

namespace glovebox::mcp {

std::string random_id() {
  std::array<char, 24> random{};
  // So few bytes always come whole (getrandom(2)).
  GB_CHECK(::getrandom(random.data(), random.size(), 0) == ssize_t{random.size()});
  std::string id = to_base64({random.data(), random.size()});
  std::ranges::replace(id, '+', '-');
  std::ranges::replace(id, '/', '_');
  return id;
}

}  // namespace glovebox::mcp
