// SPDX-License-Identifier: Apache-2.0
// What is known of a sandbox, in the forms of those who keep it: the keeper, the database, and the
// book of quotas. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "service/local/sandbox_book.h"
#include "service/tenants/quota_book.h"
#include "store/sandbox_records.h"

namespace glovebox {

// Updates `info` with what the keeper says of the sandbox.
void refresh(SandboxInfo& info, const nlohmann::json& said);

[[nodiscard]] SandboxRecord record_of(const SandboxEntry& entry);

[[nodiscard]] QuotaUse use_of(const SandboxInfo& info);

}  // namespace glovebox
