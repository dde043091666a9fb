// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/retry_after.h"

#include <algorithm>
#include <utility>

namespace glovebox {

using std::chrono::seconds;

Error exhausted(std::string message, std::chrono::nanoseconds retry_in) {
  const seconds wait = std::clamp(std::chrono::ceil<seconds>(retry_in), seconds(1), seconds(3'600));
  return Error(ErrorCode::kExhausted, std::move(message),
               "try again in " + std::to_string(wait.count()) +
                   (wait.count() == 1 ? " second" : " seconds"))
      .with_retry_after(wait);
}

}  // namespace glovebox
