// SPDX-License-Identifier: Apache-2.0
// Root: the file system that a sandbox sees, from a tmpfs over the host's to pivot_root(2). As in
// enter.cc: system calls only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sandbox/child/plan.h"

namespace glovebox::child {

// The steps, in the order in which enter.cc takes them. Each returns zero or a negative errno, and
// counts its parts in `detail`, so that a failure can name one.
class Root {
 public:
  // Both must outlive this object.
  Root(const Plan& plan, std::uint32_t& detail) noexcept : plan_(plan), detail_(detail) {}

  // The new root becomes the current directory, which all later steps need.
  long make() noexcept;
  long write_files() noexcept;
  long bind_mounts() noexcept;
  long mount_proc() noexcept;
  // Forbids further user namespaces, or limits their number if the plan allows some.
  long lock_user_namespaces() noexcept;
  // Afterwards the current directory is the workspace.
  long enter() noexcept;

  // What the warden gets, in the plan's order, once mount_proc() has opened it.
  [[nodiscard]] std::span<long> warden_files() noexcept {
    return std::span(warden_files_).first(warden_file_count_);
  }

 private:
  [[nodiscard]] bool may_be_there(long result) const noexcept;
  long make_directories(std::span<const Directory> directories) noexcept;
  long attach_disk() noexcept;
  long bind_all(std::span<const Bind> binds) noexcept;
  long open_warden_files() noexcept;

  const Plan& plan_;
  std::uint32_t& detail_;
  std::array<long, kMostWardenFiles + 2> warden_files_{};
  std::size_t warden_file_count_ = 0;
  long inner_workspace_ = -1;  // The mount of the workspace in which nothing is closed.
};

}  // namespace glovebox::child
