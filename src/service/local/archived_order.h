// SPDX-License-Identifier: Apache-2.0
// What an archive of a sandbox says of how the sandbox was made: JSON with the template and its
// digest, the tier, limits, rules, environment, policies and metadata. Neither secrets nor the
// rules that name them are in it, nor volumes, which are the tenant's.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "service/api/sandboxes.h"

namespace glovebox {

// `made_from` is the template that its files were put into.
Result<nlohmann::json> archived_order(const SandboxInfo& info,
                                      const std::string& made_from,
                                      const std::string& template_digest);

// An order as a client would give it: only its types have been checked. The digest goes to
// `template_digest`. kInvalid for anything else.
Result<SandboxRequest> read_archived_order(const nlohmann::json& order,
                                           std::string& template_digest);

}  // namespace glovebox
