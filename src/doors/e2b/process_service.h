// SPDX-License-Identifier: Apache-2.0
// process.Process: commands and terminals in a sandbox.
#pragma once

#include <string_view>

#include "doors/e2b/connect_rpc.h"
#include "doors/e2b/gate.h"
#include "doors/e2b/users.h"

namespace glovebox::e2b {

class ProcessService {
 public:
  explicit ProcessService(SandboxService& service) : service_(service) {}

  // Answers a call of `method` for a sandbox that the caller may enter.
  void serve(std::string_view method,
             const Visit& visit,
             http::Request& request,
             http::Response& response);

 private:
  // Does what a call with one answer asks for.
  Result<Json> call(std::string_view method, const Visit& visit, http::Request& request);
  Result<Json> list(const Visit& visit);
  Result<void> send_input(const Visit& visit, const Json& message);
  Result<void> send_signal(const Visit& visit, const Json& message);
  Result<void> update(const Visit& visit, const Json& message);
  Result<void> close_stdin(const Visit& visit, const Json& message);

  void stream_input(const Visit& visit, http::Request& request, http::Response& response);
  void start(const Visit& visit,
             const User& user,
             http::Request& request,
             http::Response& response);
  void connect(const Visit& visit, http::Request& request, http::Response& response);

  Result<ProcessRequest> process_request(const Visit& visit,
                                         const User& user,
                                         http::Request& request,
                                         const Json& message);
  // The process that a ProcessSelector means.
  Result<std::uint32_t> selected(const Visit& visit, const Json& message);
  Result<void> write(const Visit& visit, std::uint32_t pid, const Json& input);

  SandboxService& service_;
};

}  // namespace glovebox::e2b
