// SPDX-License-Identifier: Apache-2.0
// CallGate: what policies say about the tools that code calls while it is executed, before the
// client hears of a call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "guard/policy/policy.h"
#include "service/api/sandbox_service.h"
#include "service/guarded/approvals.h"

namespace glovebox {

// Belongs to one execution, and to the thread that gets its events.
class CallGate {
 public:
  // Where the code runs. Must outlive the gate.
  struct Place {
    SandboxService& service;
    const Caller& caller;
    std::string_view sandbox;
    std::string_view context;
  };

  // `policies` have rules for tools. The sink gets what passes.
  CallGate(Place place,
           std::vector<policy::Policy> policies,
           Approvals& approvals,
           const EventSink& sink)
      : place_(place), policies_(std::move(policies)), approvals_(approvals), sink_(sink) {}
  CallGate(const CallGate&) = delete;
  CallGate& operator=(const CallGate&) = delete;

  // An EventSink. An event "tool_call" passes if the policies allow the call. If they refuse it,
  // the code gets an error, and the sink an event "tool_refused" in its place. If a person is
  // asked, this blocks until somebody has decided, the time is over, or nobody waits for the call
  // any more. What the code says meanwhile comes after it, so that every follower sees the events
  // of an execution in the same order at any time. Nobody is asked again about a call that they
  // have agreed to, not even by the gate of another daemon.
  bool take(std::string_view event);

 private:
  struct Call {
    std::string id;
    std::string name;
    std::string_view arguments;  // JSON text, as the client would get it.
  };

  bool ask(const Call& call, policy::Assessment assessment, std::string_view event);
  bool refuse(const Call& call, const std::string& why);
  [[nodiscard]] ToolWait wait_of(const Call& call) const;
  [[nodiscard]] Approval question_about(const Call& call, policy::Assessment assessment) const;

  const Place place_;
  const std::vector<policy::Policy> policies_;
  Approvals& approvals_;
  const EventSink& sink_;
};

}  // namespace glovebox
