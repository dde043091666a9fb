// SPDX-License-Identifier: Apache-2.0
// Turns the requests of callers into deeds: fixed fields of each, and never a value that could be a
// secret.
#pragma once

#include <string_view>

#include "service/api/sandbox_service.h"
#include "service/guarded/audit_trail.h"
#include "service/templates/recipe.h"

namespace glovebox {

// `trail`, which may be null, knows whether code is recorded in full.
[[nodiscard]] Deed deed_of(const SandboxRequest& request, const AuditTrail* trail);
[[nodiscard]] Deed deed_of(std::string_view sandbox, const SandboxChange& change);
[[nodiscard]] Deed deed_of(std::string_view sandbox,
                           std::string_view context,
                           const ExecuteRequest& request,
                           const AuditTrail* trail);
[[nodiscard]] Deed deed_of(std::string_view sandbox, const PackagesRequest& request);
[[nodiscard]] Deed deed_of(std::string_view sandbox,
                           const ContextRequest& request,
                           const AuditTrail* trail);
[[nodiscard]] Deed deed_of(const RunRequest& request, const AuditTrail* trail);
[[nodiscard]] Deed deed_of(const JudgeRequest& request, const AuditTrail* trail);
[[nodiscard]] Deed deed_of(std::string_view sandbox,
                           const ProcessRequest& request,
                           const AuditTrail* trail);
[[nodiscard]] Deed deed_of(const Recipe& recipe);
[[nodiscard]] Deed deed_of_tags(std::string_view template_name,
                                const std::vector<std::string>& tags);
[[nodiscard]] Deed deed_of(const StopScope& scope);

// Something in a sandbox, or in a context of it, without further details.
[[nodiscard]] Deed deed(std::string_view action,
                        std::string_view sandbox = {},
                        std::string_view context = {});
// Something about a thing with a name.
[[nodiscard]] Deed deed_about(std::string_view action, std::string_view subject);
[[nodiscard]] Deed freeing(Deed deed);

}  // namespace glovebox
