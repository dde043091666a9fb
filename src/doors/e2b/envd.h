// SPDX-License-Identifier: Apache-2.0
// What E2B runs in a sandbox on port 49983 for commands and files ("envd"), served from outside.
#pragma once

#include "doors/e2b/file_routes.h"
#include "doors/e2b/filesystem_service.h"
#include "doors/e2b/gate.h"
#include "doors/e2b/process_service.h"
#include "doors/e2b/url.h"
#include "doors/e2b/usage_meter.h"
#include "doors/transport/http.h"

namespace glovebox::e2b {

class Envd {
 public:
  Envd(SandboxService& service, UsageMeter& meter)
      : meter_(meter), processes_(service), filesystem_(service), files_(service) {}

  // Answers a request that was let in, for a living sandbox.
  void serve(const Target& target,
             const Visit& visit,
             http::Request& request,
             http::Response& response);

 private:
  void serve_rpc(const Target& target,
                 const Visit& visit,
                 http::Request& request,
                 http::Response& response);

  UsageMeter& meter_;
  ProcessService processes_;
  FilesystemService filesystem_;
  FileRoutes files_;
};

}  // namespace glovebox::e2b
