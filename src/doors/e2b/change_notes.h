// SPDX-License-Identifier: Apache-2.0
// Changes of a sandbox's notes, of which several clients may make some at once.
#pragma once

#include <functional>
#include <string>

#include "doors/e2b/notes.h"
#include "service/api/sandbox_service.h"

namespace glovebox::e2b {

// What to change in the notes of a sandbox that is `now` like this, and besides in `change`. May be
// called several times.
using NotesEdit =
    std::function<Result<void>(const SandboxInfo& now, SandboxNotes& notes, SandboxChange& change)>;

// Applies `edit` to the sandbox as it is now, and again when others change it meanwhile; kConflict
// when that never ends. A sandbox without notes, made through another door, gets some. Any thread.
Result<SandboxInfo> change_notes(SandboxService& service,
                                 const Caller& caller,
                                 const std::string& id,
                                 const NotesEdit& edit);

}  // namespace glovebox::e2b
