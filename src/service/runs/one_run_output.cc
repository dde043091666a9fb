// SPDX-License-Identifier: Apache-2.0
// What a run has made.
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "service/runs/one_run.h"
#include "service/runs/transfer.h"

namespace glovebox {

Result<void> OneRun::collect() {
  if (place_->alive()) {
    GB_TRY(find_changes());
    return copy_out_changes();
  }
  if (!request_.out_directory.empty()) {
    keep_not_copied(Error(ErrorCode::kUnavailable,
                          "no files were copied out: the sandbox ended with its guest",
                          "raise the limit that ended it"));
  }
  return {};
}

Result<void> OneRun::find_changes() {
  // If it is known that the guest made nothing, nobody needs to look.
  if (place_->features().limits_inodes && verdict().usage.inodes == 0 && begins_bare()) {
    return {};
  }
  Sandbox::Changes changes = GB_TRY(place_.for_program().take_changes());
  verdict().files = std::move(changes.files);
  verdict().files_truncated = changes.truncated;
  return {};
}

Result<void> OneRun::copy_out_changes() {
  if (request_.out_directory.empty()) {
    return {};
  }
  observer_.enter("out");
  const Bytes max{request_.limits.disk.count + request_.compile_limits.disk.count};
  auto copied = copy_out(*place_, request_.out_directory, max);
  if (copied) {
    result_.copied_out = std::move(copied).value();
    note_missing();
  } else {
    // Names that a guest chose can make this fail; its verdict stands all the same.
    keep_not_copied(std::move(copied).error().within("not all files were copied out"));
  }
  return {};
}

// The size of a sparse file, which no disk limit sees, may be more than is ever copied out.
void OneRun::note_missing() {
  const std::set<std::string_view> copied(result_.copied_out.begin(), result_.copied_out.end());
  for (const FileChange& file : verdict().files) {
    const bool of_workspace = !file.path.starts_with('/');
    if (of_workspace && file.kind != FileChange::Kind::kDeleted && !copied.contains(file.path)) {
      keep_not_copied(Error(ErrorCode::kExhausted,
                            "not all files were copied out: '" + printable(file.path) + "' (" +
                                to_string(Bytes{file.size}) + ") is missing",
                            "raise --disk, or make the program write smaller files"));
      return;
    }
  }
}

void OneRun::keep_not_copied(Error error) {
  verdict().notes.push_back(printable(error.message()));
  result_.not_copied = std::move(error);
}

}  // namespace glovebox
