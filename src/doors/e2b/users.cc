// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/users.h"

#include <algorithm>
#include <vector>

#include "base/base64.h"
#include "base/text.h"
#include "doors/e2b/tokens.h"
#include "files/users.h"
#include "spec/guest.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxPath = 4095;  // PATH_MAX without its end.
constexpr std::size_t kMaxDatabase = 1UL << 20;

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

Error nobody(std::string_view name) {
  return {ErrorCode::kRefused, "invalid username: '" + printable(name.substr(0, 64)) + "'"};
}

// A file of the sandbox's own, which may hold anything. Empty if it cannot be read.
std::string database(FileClient& client, std::string_view path) {
  std::string text;
  const auto file = client.open(path);
  if (!file || !client.read(*file, 0, kMaxDatabase, [&text](std::string_view bytes) {
        text += bytes;
        return Result<void>();
      })) {
    text.clear();
  }
  return text;
}

// A user that the template, or somebody inside, has made.
Result<User> find_account(SandboxService& service, const Visit& visit, std::string_view name) {
  FileClient client = GB_TRY(service.files(visit.caller, visit.info.id, FileAccess::kUse));
  const auto found = files::find_user(name, database(client, "/etc/passwd"), {});
  if (!found || found->name != name) {
    return nobody(name);  // E2B's names are neither numbers nor NAME:GROUP.
  }
  return User{.name = std::string(name), .home = found->home.empty() ? "/" : found->home};
}

}  // namespace

Result<User> find_user(SandboxService& service, const Visit& visit, std::string_view name) {
  if (name.empty() || name == "user") {
    return User{.name = std::string(name)};
  }
  if (visit.info.as_root) {
    return name == "root" ? User{.name = "root", .home = std::string(kRootHome)}
                          : find_account(service, visit, name);
  }
  if (name == "root") {
    return Error(ErrorCode::kUnsupported,
                 "this sandbox has no user 'root': the operator of the daemon can start it with "
                 "--e2b-root");
  }
  return nobody(name);
}

Result<User> user_of_call(SandboxService& service,
                          const Visit& visit,
                          const http::Request& request) {
  const std::string_view header = request.header("Authorization").value_or("");
  constexpr std::string_view kBasic = "Basic ";
  if (!header.starts_with(kBasic)) {
    return User();
  }
  const auto pair = from_base64(header.substr(kBasic.size()));
  if (!pair) {
    return Error(ErrorCode::kRefused, "malformed credentials");
  }
  return find_user(service, visit, std::string_view(*pair).substr(0, pair->find(':')));
}

RpcError refused_user(const Error& error) {
  return error.code() == ErrorCode::kRefused
             ? RpcError{.code = "unauthenticated", .message = error.message()}
             : rpc_error(error);
}

Result<std::string> resolve_path(std::string_view path, std::string_view home) {
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
  return cleaned(std::string(home) + "/" + std::string(path));
}

}  // namespace glovebox::e2b
