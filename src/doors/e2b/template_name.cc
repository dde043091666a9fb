// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_name.h"

#include <algorithm>

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxName = 200;

}  // namespace

Result<std::string> template_name(std::string_view wanted) {
  if (wanted.size() > kMaxName) {
    return Error(ErrorCode::kInvalid, "the template name is too long");
  }
  std::string_view name = wanted;
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  const std::size_t colon = name.find(':');
  const bool tagged = colon != std::string_view::npos;
  if (tagged && name.substr(colon + 1) != "default") {
    return Error(ErrorCode::kNotFound, "template '" + std::string(wanted) + "' not found");
  }
  name = name.substr(0, colon);
  const bool plain = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (!plain) {
    return Error(ErrorCode::kInvalid, "invalid template name");
  }
  return std::string(name);
}

}  // namespace glovebox::e2b
