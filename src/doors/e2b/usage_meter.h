// SPDX-License-Identifier: Apache-2.0
// UsageMeter: how busy sandboxes are. The service reports processor time since their creation; a
// share also needs the reading before.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "doors/e2b/fields.h"
#include "service/api/sandbox_service.h"

namespace glovebox::e2b {

// Any thread.
class UsageMeter {
 public:
  struct Reading {
    SandboxUsage usage;
    double cpu_percent = 0;  // Of one processor, since the reading before, or since the start.
  };

  explicit UsageMeter(SandboxService& service) : service_(service) {}

  Result<Reading> read(const Caller& caller, const SandboxInfo& info);

 private:
  struct Before {
    SystemTime at;
    std::chrono::microseconds cpu_used{0};
    double cpu_percent = 0;
  };
  SandboxService& service_;
  std::mutex mutex_;
  std::map<std::string, Before> before_;
};

// As the control API shows a reading.
Json metric_json(const UsageMeter::Reading& reading);

// As GET /metrics of a sandbox shows it.
Json envd_metric_json(const UsageMeter::Reading& reading);

}  // namespace glovebox::e2b
