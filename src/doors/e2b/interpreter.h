// SPDX-License-Identifier: Apache-2.0
// The code interpreter of a sandbox: /execute and /contexts.
#pragma once

#include "doors/e2b/default_contexts.h"
#include "doors/e2b/gate.h"
#include "doors/e2b/options.h"
#include "doors/e2b/url.h"
#include "doors/transport/http.h"

namespace glovebox::e2b {

class Interpreter {
 public:
  Interpreter(SandboxService& service, const E2bOptions& options)
      : service_(service), options_(options), contexts_(service) {}

  // Answers a request for a sandbox that the caller may enter.
  void serve(const Target& target,
             const Visit& visit,
             http::Request& request,
             http::Response& response);

 private:
  void execute(const Visit& visit, http::Request& request, http::Response& response);
  void stream(const Visit& visit,
              ChosenContext context,
              const ExecuteRequest& wanted,
              http::Request& request,
              http::Response& response);
  void list(const Visit& visit, http::Response& response);
  void create(const Visit& visit, http::Request& request, http::Response& response);

  SandboxService& service_;
  const E2bOptions& options_;
  DefaultContexts contexts_;
};

}  // namespace glovebox::e2b
