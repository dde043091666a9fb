// SPDX-License-Identifier: Apache-2.0
// Routes of the control API: a method and a pattern lead to a handler.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/e2b/answers.h"
#include "doors/e2b/url.h"
#include "service/api/sandbox_service.h"

namespace glovebox::e2b {

// One request of a caller who has shown their key.
struct ControlCall {
  const Caller& caller;
  http::Request& request;
  http::Response& response;
  const Target& target;
  std::vector<std::string> arguments{};  // What stood where the pattern has "*".

  // The body as an object; the control API's are small.
  [[nodiscard]] Result<Json> body() const;
};

// Answers the call itself, or fails: then the error is the answer.
using ControlHandler = std::function<Result<void>(ControlCall&)>;

class Routes {
 public:
  // `pattern` looks like "sandboxes/*/timeout". The first that matches is taken.
  void add(std::string_view method, std::string_view pattern, ControlHandler handler);

  // Answers every call: 404 for what nobody serves, 405 for a wrong method, 403 if the service does
  // not admit the caller: a GET takes the scope "read", everything else "run".
  void serve(ControlCall& call, SandboxService& service) const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> pattern;
    ControlHandler handler;
  };
  std::vector<Route> routes_;
};

}  // namespace glovebox::e2b
