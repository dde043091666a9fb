// SPDX-License-Identifier: Apache-2.0
// RootChanges: what a guest that is root has changed in its root, outside the workspace.
//
// In an overlay, the upper layer has the guest's files and nothing else. Elsewhere all files are
// the guest's, except for the configuration that the set-up made. So how long a search takes
// depends on how much was written, not on the size of the root.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "spec/warden_protocol.h"

namespace glovebox::warden {

class RootChanges {
 public:
  struct Overlay {
    std::string layer;   // The name of its directory among the layers.
    std::string target;  // Its path for the guest.
  };

  // `layers` is where the layers of the root are, which guests do not see. Without it the root is
  // read-only, and nothing is changed. What is mounted does not change: no guest may mount.
  RootChanges(UniqueFd layers, std::vector<Overlay> overlays)
      : layers_(std::move(layers)), overlays_(std::move(overlays)) {}

  // Remembers the configuration as it is, and the time.
  void mark();

  // Adds what differs from that, with absolute paths: regular files, and what was deleted; a
  // directory that was shown and deleted is one entry. Leaves out /run, /sys, /dev and /tmp, and
  // what the guest had made before the mark and then deleted. Bounded as the report is, and in
  // number, depth and time.
  void add_to(FilesReport& report) const;

 private:
  // A directory with files of the guest's.
  struct Place {
    UniqueFd top;
    std::string lower;   // What an overlay shows there, among the layers; empty: no overlay.
    std::string prefix;  // Its path for the guest; empty for the root.
  };
  // What identifies the state of a file.
  struct Seen {
    std::uint64_t inode = 0;
    std::int64_t changed_ns = 0;  // The ctime, which no guest can set.
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  class Walk;
  class Collection;

  // All of them, or only the one with the configuration.
  [[nodiscard]] std::vector<Place> places(bool all) const;

  UniqueFd layers_;
  std::vector<Overlay> overlays_;
  std::map<std::string, Seen, std::less<>> marked_;
  std::int64_t marked_at_ns_ = 0;
};

}  // namespace glovebox::warden
