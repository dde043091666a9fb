// SPDX-License-Identifier: Apache-2.0
// Snapshots of the workspace, taken and restored.
//
// They keep directories, regular files and symbolic links with names, modes, modification times and
// contents; holes stay holes. Of other files (FIFOs, sockets) a restore leaves those that are still
// there and removes the rest. Owners and extended attributes are not kept. A hard link that was
// removed comes back as a file of its own.
//
// Guests may be running all the while. They can make a snapshot hold a mixture of what they wrote,
// or a restore fail; but every step is taken from a directory's descriptor to one name in it, and
// no link is followed, so nothing outside what they may write themselves is ever touched.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "spec/warden_protocol.h"
#include "warden/contents.h"
#include "warden/manifest.h"

namespace glovebox::warden {

// A regular file that a restore gave back what it held before.
struct Rewritten {
  std::string path;
  Contents::Identity before;  // When it last held that.
  Contents::Identity after;
};

class Snapshots {
 public:
  // `workspace` is its directory; `place` another one in the same file system that guests cannot
  // see, for what is kept, or none.
  Snapshots(UniqueFd workspace, UniqueFd place)
      : workspace_(std::move(workspace)), place_(std::move(place)) {}

  // As Contents::trust_times(), for what follows.
  void trust_times(bool trust) { contents_.trust_times(trust); }

  // Keeps the workspace under a number that is not taken. A failure, above all a full disk, leaves
  // no trace of it.
  Result<void> take(std::uint32_t id);

  // Makes the workspace what it was. Files that still have the inode that the snapshot saw are
  // written in place, so that processes that have them open can continue with them; others are made
  // anew. If the disk has too little room, fails before anything has changed; any later error
  // leaves the workspace in between, and the snapshot whole. `rewritten` has what it got to.
  Result<void> restore(std::uint32_t id, std::vector<Rewritten>& rewritten);

  // What in the workspace is not as it was.
  Result<DifferencesReport> compare(std::uint32_t id);

  // What a file held, or where a link led; nothing if there was none, or one larger than `max`.
  [[nodiscard]] std::optional<std::string> read(std::uint32_t id,
                                                std::string_view path,
                                                std::size_t max) const;

  // Forgets a snapshot; contents that no other holds free their space.
  Result<void> drop(std::uint32_t id);

 private:
  Result<void> capture(int directory,
                       std::size_t index,
                       std::size_t depth,
                       Manifest& manifest,
                       const Deadline& deadline);
  Result<void> capture_one(int directory,
                           const std::string& name,
                           std::size_t index,
                           Manifest& manifest,
                           const Deadline& deadline);
  [[nodiscard]] Result<void> check_room(const Manifest& manifest) const;
  void release(const Manifest& manifest);

  UniqueFd workspace_;
  UniqueFd place_;
  Contents contents_;
  std::map<std::uint32_t, Manifest> taken_;
};

}  // namespace glovebox::warden
