// SPDX-License-Identifier: Apache-2.0
// Changes to a sandbox's notes, which several clients may make at once.
#pragma once

#include <functional>
#include <string>

#include "doors/e2b/notes.h"
#include "service/api/sandbox_service.h"

namespace glovebox::e2b {

// Edits the notes, and anything else in `change`, of a sandbox whose present state is `now`. May be
// called several times.
using NotesEdit =
    std::function<Result<void>(const SandboxInfo& now, SandboxNotes& notes, SandboxChange& change)>;

// Applies `edit` to the sandbox as it is now, and again if others change it meanwhile; kConflict if
// that never ends. A sandbox without notes, made through another door, gets some. Any thread.
Result<SandboxInfo> change_notes(SandboxService& service,
                                 const Caller& caller,
                                 const std::string& id,
                                 const NotesEdit& edit);

}  // namespace glovebox::e2b
