// SPDX-License-Identifier: Apache-2.0
// SandboxService: all that a door may ask for. A door translates; what it means is decided here.
//
// Every call names its caller, and finds nothing that belongs to another tenant: what is not the
// caller's does not exist (kNotFound). What the caller's key does not allow is kRefused; that is
// decided in one place, service/guarded/, through which every door calls. Calls may come from any
// thread, and block.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "audit/query.h"
#include "base/result.h"
#include "files/file_client.h"
#include "service/api/access.h"
#include "service/api/caller.h"
#include "service/api/contexts.h"
#include "service/api/processes.h"
#include "service/api/runs.h"
#include "service/api/sandboxes.h"
#include "service/api/stops.h"
#include "spec/network_rules.h"

namespace glovebox {

class TemplateService;
class TenantService;
class SecretService;
class VolumeService;

class SandboxService : public Access,
                       public Sandboxes,
                       public Contexts,
                       public Processes,
                       public Runs,
                       public Stops {
 public:
  // What the operator lets sandboxes reach at most.
  [[nodiscard]] virtual NetworkPolicy network_policy() const = 0;
  // Whether sandboxes come as fast as usual; after a start that takes some seconds.
  virtual bool ready() = 0;

  // Files and ports. A client is for one thread; ask for one for each request. A client for reading
  // refuses everything else.
  virtual Result<FileClient> files(const Caller& caller,
                                   std::string_view sandbox,
                                   FileAccess access) = 0;
  // The same, but what it makes belongs to `user`, as in ProcessRequest.
  virtual Result<FileClient> files_of(const Caller& caller,
                                      std::string_view sandbox,
                                      FileAccess access,
                                      const std::string& user) = 0;

  // JSON text: {"languages":[…]} as `glovebox languages --json`, and the templates of a tenant.
  virtual Result<std::string> languages() = 0;
  virtual Result<std::vector<std::string>> templates(const Caller& caller) = 0;

  // As long as this object.
  virtual VolumeService& volumes() = 0;
  virtual SecretService& secrets() = 0;
  virtual TenantService& tenants() = 0;
  virtual TemplateService& template_service() = 0;

  // Records of the audit journal: of the caller's tenant, or of all for the daemon's own.
  virtual Result<audit::Page> audit_records(const Caller&, const audit::Query&) {
    return Error(ErrorCode::kUnsupported, "this daemon keeps no audit journal",
                 "start it without '--audit off'");
  }
};

}  // namespace glovebox
