// SPDX-License-Identifier: Apache-2.0
// E2B's users, and the paths that start from their homes. If a sandbox has root inside, they are
// the accounts of its root; otherwise there is only "user", the guest.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/e2b/connect_rpc.h"
#include "doors/e2b/gate.h"
#include "doors/e2b/options.h"
#include "doors/transport/http.h"
#include "service/api/sandbox_service.h"

namespace glovebox::e2b {

struct User {
  std::string name{};  // As the service takes it; empty: whoever the sandbox runs as.
  std::string home = kHome;
};

// The user that a call names: with Basic authentication, without a password. kRefused for an
// unknown name; kUnsupported for "root" if there is no root inside.
Result<User> user_of_call(SandboxService& service,
                          const Visit& visit,
                          const http::Request& request);
// The same for a name that came as a parameter. Empty: E2B's default.
Result<User> find_user(SandboxService& service, const Visit& visit, std::string_view name);

// How a call reports such an error.
RpcError refused_user(const Error& error);

// The absolute path that a client means: "" and "~" are the home, relative paths start there.
// kInvalid for other homes and for what cannot be a path.
Result<std::string> resolve_path(std::string_view path, std::string_view home = kHome);

}  // namespace glovebox::e2b
