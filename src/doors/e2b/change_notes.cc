// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/change_notes.h"

#include <utility>

namespace glovebox::e2b {
namespace {

// Each time, one of the competing clients succeeds.
constexpr int kTries = 32;

Result<SandboxNotes> notes_or_new(const Caller& caller, const SandboxInfo& info) {
  if (auto notes = read_notes(info.extra)) {
    return *std::move(notes);
  }
  SandboxNotes notes = GB_TRY(make_notes(caller.tenant));
  notes.template_id = info.template_name;
  return notes;
}

}  // namespace

Result<SandboxInfo> change_notes(SandboxService& service,
                                 const Caller& caller,
                                 const std::string& id,
                                 const NotesEdit& edit) {
  for (int i = 1;; ++i) {
    SandboxInfo now = GB_TRY(service.find(caller, id));
    SandboxNotes notes = GB_TRY(notes_or_new(caller, now));
    SandboxChange change;
    GB_TRY(edit(now, notes, change));
    change.extra = write_notes(now.extra, notes);
    change.made_from = std::move(now);
    auto changed = service.change(caller, id, change);
    if (changed || changed.error().code() != ErrorCode::kConflict || i == kTries) {
      return changed;
    }
  }
}

}  // namespace glovebox::e2b
