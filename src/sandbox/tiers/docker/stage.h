// SPDX-License-Identifier: Apache-2.0
// What a container sees of this host's files, and a directory of ours with the files that are made
// for it alone: its users and names, the machine that it is told it is on, and the socket by which
// its launcher finds us.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/spec.h"
#include "spec/mount.h"

namespace glovebox::docker {

class Stage {
 public:
  // Makes the directory at `path`, and everything in it. `uid` and `gid` are the guest's inside;
  // `own_system`: the image brings its own /usr and /etc, so the host's are not shown.
  static Result<Stage> create(
      std::string path, const SandboxSpec& spec, uid_t uid, gid_t gid, bool own_system);

  // All are read-only inside. The sources are absolute.
  [[nodiscard]] const std::vector<Mount>& mounts() const { return mounts_; }

  // Waits for the launcher and takes its connection; after that nobody else can connect.
  // kUnavailable after `patience_ms`.
  Result<UniqueFd> accept(int patience_ms);

  // What the machine's files say from now on.
  [[nodiscard]] Result<void> describe_machine(const Limits& limits) const;

  [[nodiscard]] Result<void> remove() const;

 private:
  explicit Stage(std::string path) : path_(std::move(path)) {}
  Result<void> add_file(const std::string& name, std::string_view text, std::string target);
  Result<void> add_names(const SandboxSpec& spec, uid_t uid, gid_t gid);
  Result<void> add_machine(const Limits& limits);
  Result<void> add_programs();
  Result<void> listen();
  void add_system();
  Result<void> add_mount(const Mount& mount);

  std::string path_;
  std::vector<Mount> mounts_;
  UniqueFd listener_;
};

}  // namespace glovebox::docker
