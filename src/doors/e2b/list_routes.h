// SPDX-License-Identifier: Apache-2.0
// Lists of sandboxes, in pages, and how much they use.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "doors/e2b/options.h"
#include "doors/e2b/routes.h"
#include "doors/e2b/usage_meter.h"

namespace glovebox::e2b {

class ListRoutes {
 public:
  ListRoutes(SandboxService& service, UsageMeter& meter) : service_(service), meter_(meter) {}

  void add_to(Routes& routes);

 private:
  Result<void> list(ControlCall& call, bool running_only);
  Result<void> metrics(ControlCall& call);
  Result<void> metrics_of_many(ControlCall& call);
  Result<void> logs(ControlCall& call);

  SandboxService& service_;
  UsageMeter& meter_;
};

// The pairs in the `metadata` parameter. Clients encode each key and value, then the pairs as a
// form, then the whole as a parameter (e2b: SandboxPaginator).
std::optional<std::map<std::string, std::string>> parse_metadata(const std::string& parameter);

}  // namespace glovebox::e2b
