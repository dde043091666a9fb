// SPDX-License-Identifier: Apache-2.0
// Volumes: what the control API says of them, and their files, which need a token of the volume
// instead of an API key.
#pragma once

#include "doors/e2b/routes.h"
#include "service/api/volume_service.h"

namespace glovebox::e2b {

class VolumeRoutes {
 public:
  explicit VolumeRoutes(SandboxService& service) : service_(service) {}

  void add_to(Routes& routes);

  // A request below /volumecontent.
  void serve_content(const Target& target, http::Request& request, http::Response& response);

 private:
  struct Content;

  Result<void> create(ControlCall& call);
  Result<void> list(ControlCall& call);
  Result<void> show(ControlCall& call);
  Result<void> remove(ControlCall& call);
  Result<void> content(const Target& target, http::Request& request, http::Response& response);

  SandboxService& service_;
};

// The member `volumeMounts` of a request for a new sandbox.
Result<std::vector<VolumeMount>> volume_mounts(const Json& body);

}  // namespace glovebox::e2b
