// SPDX-License-Identifier: Apache-2.0
// SystemLayer: what a root guest is shown of the host's configuration (system_copy.h), as lower
// layers of its root that every sandbox shares.
//
// They are copies: nothing that the host puts in /etc later appears in a living sandbox. They are
// in the cache directory (sandbox/cache_directory.h), made once, and again once one of their
// sources has changed. A process that has a layer holds a lock on its directory (flock(2)), which
// the kernel drops with the process; layers that nobody holds are removed when the next one is
// made. If root has no such directory, or one whose file system cannot show other owners, each
// sandbox has copies in memory, which end with it.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

class SystemLayer {
 public:
  // A directory of the layer, for child::Lower: a detached read-only mount, or a path outside if we
  // may not mount.
  struct Directory {
    UniqueFd mount;
    std::string path;
  };

  // None, to be assigned to.
  SystemLayer() = default;

  // The current one. What it shows stays as it is while this object lives. Fails with kUnavailable
  // if there is no place for it.
  static Result<SystemLayer> take();

  // To be taken once: what is in /etc, and the first directories of /usr/local.
  [[nodiscard]] Directory take_etc() { return std::move(etc_); }
  [[nodiscard]] Directory take_local() { return std::move(local_); }

 private:
  // What is in the directory of a layer, which is locked.
  static Result<SystemLayer> show(UniqueFd lock, const std::string& path);
  static Result<SystemLayer> make(int place, const std::string& place_path);
  static Result<SystemLayer> make_in_memory();

  UniqueFd lock_;
  Directory etc_;
  Directory local_;
};

}  // namespace glovebox
