// SPDX-License-Identifier: Apache-2.0
#include "spec/verdict.h"

namespace glovebox {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kError:
      return "error";
    case Status::kCompileError:
      return "compile_error";
    case Status::kTimeout:
      return "timeout";
    case Status::kOutOfMemory:
      return "out_of_memory";
    case Status::kPidsLimit:
      return "pids_limit";
    case Status::kDiskFull:
      return "disk_full";
    case Status::kSignaled:
      return "signaled";
    case Status::kCanceled:
      return "canceled";
    case Status::kRefused:
      return "refused";
    case Status::kUnverified:
      return "unverified";
    case Status::kFailed:
      return "failed";
  }
  return "failed";
}

std::string_view to_string(FileChange::Kind kind) {
  switch (kind) {
    case FileChange::Kind::kCreated:
      return "created";
    case FileChange::Kind::kModified:
      return "modified";
    case FileChange::Kind::kDeleted:
      return "deleted";
  }
  return "created";
}

}  // namespace glovebox
