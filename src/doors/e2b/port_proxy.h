// SPDX-License-Identifier: Apache-2.0
// PortProxy: requests to web servers inside a sandbox.
#pragma once

#include <cstdint>

#include "doors/e2b/gate.h"
#include "doors/transport/http.h"

namespace glovebox::e2b {

class PortProxy {
 public:
  explicit PortProxy(SandboxService& service) : service_(service) {}

  // Answers with what the server at a port of the sandbox answers, on the client's connection,
  // which then ends.
  void serve(std::uint16_t port,
             const Visit& visit,
             http::Request& request,
             http::Response& response);

 private:
  SandboxService& service_;
};

}  // namespace glovebox::e2b
