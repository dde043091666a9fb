// SPDX-License-Identifier: Apache-2.0
// GET and POST /files of a sandbox: whole files, streamed.
#pragma once

#include <map>
#include <string>

#include "doors/e2b/gate.h"
#include "doors/e2b/url.h"
#include "doors/e2b/users.h"
#include "doors/transport/http.h"

namespace glovebox::e2b {

class FileRoutes {
 public:
  explicit FileRoutes(SandboxService& service) : service_(service) {}

  // Answers a request that was already found to have the right to this sandbox.
  void serve(const Target& target,
             const Visit& visit,
             http::Request& request,
             http::Response& response);

 private:
  void download(const Target& target,
                const Visit& visit,
                const User& user,
                http::Request& request,
                http::Response& response);
  void upload(const Target& target,
              const Visit& visit,
              const User& user,
              http::Request& request,
              http::Response& response);
  void compose(const Visit& visit, http::Request& request, http::Response& response);

  SandboxService& service_;
};

// The metadata in X-Metadata-* headers, with the names in lower case. kInvalid if it is too large.
Result<std::map<std::string, std::string>> metadata_of(const http::Request& request);

}  // namespace glovebox::e2b
