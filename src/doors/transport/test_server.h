// SPDX-License-Identifier: Apache-2.0
// For tests: a server on a free port of this machine.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "doors/transport/http.h"

namespace glovebox::http {

inline std::unique_ptr<Server> serve(Handler handler, ServerOptions options = {}) {
  options.listen = "127.0.0.1:0";
  auto server = Server::start(std::move(options), std::move(handler));
  EXPECT_TRUE(server) << (server ? "" : server.error().message());
  return server ? std::move(server).value() : nullptr;
}

}  // namespace glovebox::http
