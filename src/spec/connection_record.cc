// SPDX-License-Identifier: Apache-2.0
#include "spec/connection_record.h"

namespace glovebox {

std::string_view to_string(ConnectionRecord::Verdict verdict) {
  switch (verdict) {
    case ConnectionRecord::Verdict::kAllowed:
      return "allowed";
    case ConnectionRecord::Verdict::kDenied:
      return "denied";
    case ConnectionRecord::Verdict::kFailed:
      return "failed";
  }
  return "failed";
}

}  // namespace glovebox
