// SPDX-License-Identifier: Apache-2.0
// PortProxy: requests to web servers inside a sandbox.
#pragma once

#include <cstdint>
#include <string>

#include "doors/e2b/gate.h"

namespace glovebox::e2b {

class PortProxy {
 public:
  explicit PortProxy(SandboxService& service) : service_(service) {}

  // Answers with what the server at a port of the sandbox answers.
  //
  // The connection of the client stays ours: it may carry requests for others next, with their
  // secrets. Only one that asked to become something else is handed over.
  void serve(std::uint16_t port,
             const Visit& visit,
             http::Request& request,
             http::Response& response);

 private:
  SandboxService& service_;
};

// The head of the request as the guest's server gets it, without our secrets.
std::string guest_request_head(const http::Request& request, const Visit& visit, bool upgrades);

}  // namespace glovebox::e2b
