// SPDX-License-Identifier: Apache-2.0
// GuestIds: the user and group ids outside of a sandbox that guests get, each living sandbox its
// own. The machine's root has them all. Root of a user namespace, as in a rootless container or a
// pod with hostUsers: false, has those that its namespace maps, which are often 65,536.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace glovebox {

struct GuestIds {
  // The guest of slot n has the id first + n; its helper outside has first + slots + n.
  uid_t first = 0;
  std::uint32_t slots = 0;
  // Whether there are ranges for sandboxes with several users as well (sandbox/id_range.h).
  bool has_ranges = false;

  // On a whole machine. The ids lie above all that systemd and the usual container engines hand
  // out (systemd.io/UIDS-GIDS).
  static constexpr uid_t kFirst = 0x70000000;
  static constexpr std::uint32_t kSlots = 1U << 20;
};

// The ids of this process. Nothing if guests can have no id but ours: for an ordinary user, and
// for root of a user namespace that maps too few, or that may not change ids (capabilities(7):
// CHOWN, SETGID, SETUID, SETPCAP). Thread-safe.
std::optional<GuestIds> guest_ids();

// Fails with kUnsupported if a guest would have our id and that is root's outside as well: root
// owns what no wall must be trusted to hide, such as the files below /proc/sys.
Result<void> check_guest_is_not_root();

// The ids that root has in a user namespace with these maps (/proc/self/uid_map,
// user_namespaces(7)). If the usual ids are missing, they are the last thirty-second part of the
// longest span that both maps have, below 65534, which is nobody.
std::optional<GuestIds> guest_ids_in(std::string_view uid_map, std::string_view gid_map);

}  // namespace glovebox
