// SPDX-License-Identifier: Apache-2.0
// What becomes of a caller's wishes.
#pragma once

#include "language/language.h"
#include "service/sandbox_service.h"

namespace glovebox {

inline LimitDefaults as_defaults(const LimitWishes& wishes) {
  return {.time = wishes.wall,
          .cpu_time = wishes.cpu_time,
          .memory = wishes.memory,
          .cpus = wishes.cpus,
          .pids = wishes.pids,
          .disk = wishes.disk,
          .inodes = wishes.inodes,
          .open_files = wishes.open_files,
          .output = wishes.output};
}

// `usual`, with what the caller set in its place.
inline Limits apply(const LimitWishes& wishes, const Limits& usual) {
  return as_defaults(wishes).over(usual);
}

}  // namespace glovebox
