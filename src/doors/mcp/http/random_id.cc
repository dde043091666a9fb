// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/random_id.h"

#include <algorithm>

#include "base/base64.h"
#include "base/random.h"

namespace glovebox::mcp {

std::string random_id() {
  std::string id = to_base64(random_bytes(24));
  std::ranges::replace(id, '+', '-');
  std::ranges::replace(id, '/', '_');
  return id;
}

}  // namespace glovebox::mcp
