// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/users.h"

#include <algorithm>
#include <vector>

#include "base/base64.h"
#include "doors/e2b/options.h"
#include "doors/e2b/tokens.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxPath = 4095;  // PATH_MAX without its end.

// Without ".", ".." and doubled slashes, as E2B cleans what it joined to a home.
std::string cleaned(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part == "..") {
      if (!parts.empty()) {
        parts.pop_back();
      }
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
  }
  std::string clean;
  for (const std::string_view part : parts) {
    clean.append("/").append(part);
  }
  return clean.empty() ? "/" : clean;
}

}  // namespace

Result<std::string> checked_user(std::string_view name) {
  if (name.empty() || name == "user" || name == "root") {
    return std::string(name.empty() ? "user" : name);
  }
  return Error(ErrorCode::kRefused, "invalid username: '" + std::string(name.substr(0, 64)) + "'");
}

Result<std::string> user_of_call(const http::Request& request) {
  const std::string_view header = request.header("Authorization").value_or("");
  constexpr std::string_view kBasic = "Basic ";
  if (!header.starts_with(kBasic)) {
    return checked_user("");
  }
  const auto pair = from_base64(header.substr(kBasic.size()));
  if (!pair) {
    return Error(ErrorCode::kRefused, "malformed credentials");
  }
  return checked_user(std::string_view(*pair).substr(0, pair->find(':')));
}

Result<std::string> resolve_path(std::string_view path) {
  if (path.size() > kMaxPath || path.find('\0') != std::string_view::npos) {
    return Error(ErrorCode::kInvalid, "invalid path");
  }
  if (path.starts_with('/')) {
    return cleaned(path);
  }
  if (path.starts_with('~')) {
    path.remove_prefix(1);
    if (!path.empty() && !path.starts_with('/')) {
      return Error(ErrorCode::kInvalid, "user-specific home directories are not supported");
    }
  }
  return cleaned(std::string(kHome) + "/" + std::string(path));
}

}  // namespace glovebox::e2b
