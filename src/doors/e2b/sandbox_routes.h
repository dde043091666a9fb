// SPDX-License-Identifier: Apache-2.0
// The life of sandboxes: create, connect, look, pause, resume, time, kill, fork, network, metrics.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "doors/e2b/gate.h"
#include "doors/e2b/options.h"
#include "doors/e2b/routes.h"

namespace glovebox::e2b {

class SandboxRoutes {
 public:
  SandboxRoutes(SandboxService& service, Gate& gate, const E2bOptions& options)
      : service_(service), gate_(gate), options_(options) {}

  void add_to(Routes& routes);

 private:
  enum class Generation { kFirst, kSecond };

  Result<void> create(ControlCall& call, Generation generation);
  Result<void> connect(ControlCall& call);
  Result<void> resume(ControlCall& call);
  Result<void> show(ControlCall& call);
  Result<void> kill(ControlCall& call);
  Result<void> set_timeout(ControlCall& call);
  Result<void> refresh(ControlCall& call);
  Result<void> pause(ControlCall& call);
  Result<void> fork(ControlCall& call);
  Result<void> set_network(ControlCall& call);

  // The sandbox with notes of ours: one that another door made gets them now.
  Result<SandboxNotes> adopt(const Caller& caller, SandboxInfo& info);
  Result<void> answer_opened(ControlCall& call, int status, SandboxInfo info);
  // Its time ends no earlier than `timeout` from now.
  Result<SandboxInfo> extend(const Caller& caller,
                             SandboxInfo info,
                             std::chrono::milliseconds timeout);

  SandboxService& service_;
  Gate& gate_;
  const E2bOptions& options_;
};

}  // namespace glovebox::e2b
