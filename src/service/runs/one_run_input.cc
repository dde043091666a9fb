// SPDX-License-Identifier: Apache-2.0
// What a run begins with.
#include <fcntl.h>

#include "base/unique_fd.h"
#include "files/open.h"
#include "service/runs/one_run.h"
#include "service/runs/transfer.h"
#include "spec/warden_protocol.h"

namespace glovebox {

Result<void> OneRun::put_in() {
  GB_TRY(unpack_image());
  if (!request_.files.empty()) {
    observer_.enter("files");
    GB_TRY(copy_in(*place_, request_.files));
  }
  for (const auto& [name, bytes] : request_.contents) {
    GB_TRY(place_->write_file(name, bytes, 0644));
  }
  const Plan& steps = plan_.steps;
  if (!place_.for_program().take_along(
          {.path = steps.file_name, .mode = steps.file_mode, .bytes = request_.code})) {
    if (request_.in_place.empty()) {
      GB_TRY(write_program(*place_, request_.code, steps.file_name, steps.file_mode));
    }
    GB_TRY(give_workspace());
    // Only what the guest makes is reported; an empty workspace needs no remembering.
    if (!begins_bare()) {
      GB_TRY(place_->mark());
    }
  }
  if (!request_.out_directory.empty()) {
    (void)GB_TRY(open_out_directory(request_.out_directory));
  }
  return {};
}

Result<void> OneRun::unpack_image() {
  if (!request_.image || request_.image->workspace.empty()) {
    return {};
  }
  const UniqueFd archive(::open(request_.image->workspace.c_str(), O_RDONLY | O_CLOEXEC));
  return archive ? place_->unpack("", archive.get()) : Error::from_errno("open the image's files");
}

// The image's user has a workspace to write to, and a home.
Result<void> OneRun::give_workspace() {
  if (!request_.image || request_.image->user.empty()) {
    return {};
  }
  const RunOptions options{.limits = request_.limits, .cancel_fd = request_.cancel_fd};
  (void)GB_TRY(place_->run(
      {.argv = give_to(request_.image->user, request_.image->home), .env = {}, .cwd = {}},
      options));
  return {};  // Where there is no such user, the program says so.
}

}  // namespace glovebox
