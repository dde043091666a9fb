// SPDX-License-Identifier: Apache-2.0
// Ids that the administrator has given to an ordinary user (subuid(5), subgid(5)), for the
// sandboxes of that user in which root is not alone.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// kSize user and group ids that no other living sandbox of this user has, and a user namespace that
// they are mapped into: its root is this user, as with a single id, and its other users are the
// ids. Newuidmap(1) and newgidmap(1), which are set-user-id root, map them.
//
// Because those ids are in /etc/subgid, newgidmap leaves setgroups(2) allowed in the namespace: its
// processes can leave groups, even one that a file is closed to. So a process that enters it first
// leaves all groups of ours, and the guest can read only what everybody can.
class SubordinateIds {
 public:
  // An empty one, to be assigned to.
  SubordinateIds() = default;

  // Fails with kUnsupported if the user has no such ids or nobody maps them, and with kExhausted
  // if other sandboxes have them all. Takes some milliseconds. Any thread may call it.
  static Result<SubordinateIds> take();

  // How many sandboxes of this user can have them at a time. Fails with kUnsupported if the user
  // has no such ids, or the programs that map them are missing.
  static Result<std::size_t> count();

  // Whether there are any.
  explicit operator bool() const { return static_cast<bool>(claim_); }
  // -1 for an empty one.
  [[nodiscard]] int user_namespace() const { return user_namespace_.get(); }

  // A quarter of what useradd(8) gives to each user.
  static constexpr std::uint32_t kSize = 1U << 14;
  // Their numbers inside: 1 and so on, and the last of 65,536, where images have their nobody.
  static constexpr std::uint32_t kTop = 16;
  static constexpr std::uint32_t kTopFirst = 65'536 - kTop;

 private:
  SubordinateIds(UniqueFd claim, UniqueFd user_namespace)
      : claim_(std::move(claim)), user_namespace_(std::move(user_namespace)) {}

  UniqueFd claim_;  // Ours as long as it is open.
  UniqueFd user_namespace_;
};

// The first ids of as many ranges of kSize as both files give to a user, by name or by number, at
// most 256. Ids below 65,536 are left out: they are people and services of the host.
std::vector<uid_t> subordinate_ranges(std::string_view subuid,
                                      std::string_view subgid,
                                      std::string_view name,
                                      uid_t uid);

}  // namespace glovebox
