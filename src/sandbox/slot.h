// SPDX-License-Identifier: Apache-2.0
// Slots: how a living sandbox is known on this host, and how leftovers are found.
//
// A slot is a file below a runtime directory (/run/glovebox, or the user's own), held locked by
// the process that owns the sandbox. Its number gives the sandbox a name and, as root, a uid
// outside that no other living sandbox has. The kernel drops the lock however the owner ends,
// so a slot that can be locked belongs to a dead owner, and what it lists is swept.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/guest_ids.h"

namespace glovebox {

class Slot {
 public:
  // Takes a free slot. Fails with kUnavailable if the runtime directory is not available.
  static Result<Slot> take();

  Slot(Slot&& other) noexcept;
  Slot& operator=(Slot&& other) noexcept;
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // Gives the slot back. While something that was noted is still there the slot stays on the list,
  // for the next sweep to remove.
  ~Slot();

  // Writes down something that must not outlive the owner, before it is made: a cgroup directory,
  // or a directory tree. Absolute paths without line breaks.
  Result<void> note_cgroup(std::string_view path);
  Result<void> note_tree(std::string_view path);
  // Likewise something that only the tier of that name can remove (Tier::sweep()). It begins with
  // our name().
  Result<void> note_for(std::string_view tier, std::string_view what);

  [[nodiscard]] std::uint32_t number() const { return number_; }
  // "glovebox-1a2b3-0123abcd", the number and a random tag: also the name of its cgroups. No
  // sandbox ever had it before, so what a lost runtime directory left is in nobody's way, and a
  // sweep of this name never meets another sandbox's.
  [[nodiscard]] std::string name() const;
  // The guest's uid and gid outside, if it has its own (sandbox/guest_ids.h).
  [[nodiscard]] uid_t host_uid() const { return ids_.first + number_; }

  // Likewise for a program that works for the guest outside of its walls; no guest has it.
  [[nodiscard]] uid_t helper_uid() const { return ids_.first + ids_.slots + number_; }

  // For another process to hold as well: the slot is free only when both have closed it. Ours.
  [[nodiscard]] int lock() const { return file_.get(); }

  // How many of GuestIds::kSlots a runtime directory other than /run/glovebox gives out. They begin
  // at (inode of the directory % 256) * kWindow, so such directories rarely collide, and the
  // directory alone tells which user ids and cgroups are its own. If there are fewer ids, all
  // directories share them.
  static constexpr std::uint32_t kWindow = 1U << 12;

 private:
  Slot(GuestIds ids, std::uint32_t number, std::string tag, UniqueFd directory, UniqueFd file)
      : ids_(ids),
        number_(number),
        tag_(std::move(tag)),
        directory_(std::move(directory)),
        file_(std::move(file)) {}
  Result<void> note(std::string_view kind, std::string_view what);
  void give_back() noexcept;

  GuestIds ids_;
  std::uint32_t number_ = 0;
  std::string tag_;
  UniqueFd directory_;
  UniqueFd file_;
  std::vector<std::string> noted_;  // Paths.
};

// What a sweep did.
struct Swept {
  std::uint32_t slots = 0;
  std::uint32_t processes = 0;
  std::uint32_t cgroups = 0;
  std::uint32_t trees = 0;
  std::vector<std::string> failures;
};

// Removes what sandboxes of dead owners left: processes, cgroups, directory trees. Leaves living
// ones alone. Cheap when there is nothing to do.
Swept sweep_leftovers();

}  // namespace glovebox
