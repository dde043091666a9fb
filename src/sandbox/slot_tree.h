// SPDX-License-Identifier: Apache-2.0
// SlotTree: a directory on the host that belongs to one slot, in the runtime directory, which only
// our user can reach. The sweep removes it when its owner dies.
#pragma once

#include <sys/stat.h>

#include <string>
#include <utility>

#include "base/result.h"
#include "base/sys/tree.h"
#include "sandbox/runtime_directory.h"
#include "sandbox/slot.h"

namespace glovebox {

// Removed with all that is in it, unless it is kept.
class SlotTree {
 public:
  static Result<SlotTree> make(Slot& slot) {
    SlotTree tree(runtime_directory() + "/." + slot.name());
    GB_TRY(slot.note_tree(tree.path_));
    if (::mkdir(tree.path_.c_str(), 0700) != 0) {
      return Error::from_errno("create " + tree.path_);
    }
    return tree;
  }

  SlotTree(SlotTree&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  SlotTree& operator=(SlotTree&&) = delete;
  SlotTree(const SlotTree&) = delete;
  SlotTree& operator=(const SlotTree&) = delete;
  ~SlotTree() {
    if (!path_.empty()) {
      (void)sys::remove_tree(path_);
    }
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  std::string keep() { return std::exchange(path_, {}); }

 private:
  explicit SlotTree(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace glovebox
