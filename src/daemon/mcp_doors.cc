// SPDX-License-Identifier: Apache-2.0
#include "daemon/mcp_doors.h"

#include <chrono>

namespace glovebox {
namespace {

using mcp::Conversation;
using mcp::ToolServer;

// How long a sandbox lives after a client last used it.
constexpr std::chrono::minutes kLifetime{30};

mcp::SandboxFeaturesOptions features_of(const McpDoors::Options& options, ApprovalDesk& approvals) {
  mcp::SandboxFeaturesOptions features{.packages = options.packages,
                                       .port_domain = options.domain,
                                       .approvals = &approvals};
  features.sandbox.timeout = kLifetime;
  return features;
}

mcp::Admission admission_of(SandboxService& guarded, const McpDoors::Options& options) {
  return {.authenticate =
              [&guarded](const http::Request& request) {
                return mcp::authenticate_by_key(guarded, request);
              },
          .origins = options.origins};
}

auto is_valid(SandboxService& guarded) {
  return [&guarded](const Caller& caller) { return guarded.admit(caller, kScopeRun).has_value(); };
}

auto delete_sandbox(SandboxService& service) {
  return [&service](const Caller& caller, Conversation& conversation) {
    if (const std::string id = conversation.sandbox().id(); !id.empty()) {
      (void)service.kill(caller, id);
    }
  };
}

}  // namespace

McpDoors::McpDoors(SandboxService& service,
                   SandboxService& guarded,
                   ApprovalDesk& approvals,
                   const Options& options)
    : tools_(guarded, features_of(options, approvals)),
      python_(ToolServer::Kind::kPython, guarded, features_of(options, approvals)),
      container_(ToolServer::Kind::kContainer, guarded, features_of(options, approvals)),
      http_(tools_,
            {.admission = admission_of(guarded, options),
             .is_valid = is_valid(guarded),
             .ended = delete_sandbox(guarded)}),
      sse_({{"/mcp/python/sse", python_}, {"/mcp/container/sse", container_}},
           {.admission = admission_of(guarded, options),
            .is_valid = is_valid(guarded),
            .over = delete_sandbox(service)}) {}

}  // namespace glovebox
