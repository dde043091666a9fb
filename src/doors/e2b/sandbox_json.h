// SPDX-License-Identifier: Apache-2.0
// Sandboxes as E2B's control API shows them.
#pragma once

#include <string>

#include "doors/e2b/fields.h"
#include "doors/e2b/notes.h"
#include "doors/e2b/options.h"
#include "service/api/sandbox_service.h"

namespace glovebox::e2b {

// The answer to create, connect, resume and fork: with the secrets.
Json opened_json(const SandboxInfo& info, const SandboxNotes& notes, const E2bOptions& options);

// An item of a list.
Json listed_json(const SandboxInfo& info, const SandboxNotes& notes);

// Everything about a sandbox.
Json detail_json(const SandboxInfo& info, const SandboxNotes& notes, const E2bOptions& options);

// The notes of a sandbox, or substitutes for them if another door made it.
SandboxNotes notes_of(const SandboxInfo& info);

}  // namespace glovebox::e2b
