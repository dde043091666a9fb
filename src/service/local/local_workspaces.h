// SPDX-License-Identifier: Apache-2.0
// LocalWorkspaces: what sandboxes have on disk in the data directory: an image with the workspace,
// or a directory with the whole sandbox, its memory and all, as it was when it was paused.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/keeper/client.h"
#include "service/local/sandbox_book.h"
#include "store/sandbox_records.h"

namespace glovebox {

// What a sandbox has on disk, as JSON, and back.
std::string encode_kept(const SandboxInfo& info);
void decode_kept(std::string_view text, SandboxInfo& info);

// Removes a snapshot's file: an archive, which is ours, or an image, which is the keeper's.
void remove_snapshot(keeper::KeeperClient& keeper, const std::string& path);

// Safe to use from any thread.
class LocalWorkspaces {
 public:
  LocalWorkspaces(const std::string& directory, keeper::KeeperClient& keeper)
      : directory_(directory + "/workspaces"), keeper_(keeper) {}

  // The image of a sandbox, and the directory of its saved memory. If one of them is there, the
  // sandbox can continue.
  [[nodiscard]] std::string path(std::string_view sandbox) const;
  [[nodiscard]] std::string saved(std::string_view sandbox) const;
  [[nodiscard]] bool has(const SandboxInfo& info) const;
  [[nodiscard]] bool has_saved(const SandboxInfo& info) const;

  // Makes an empty image with the size and the inodes of the limits, or a copy of `image`, which is
  // in use or never will be. Returns SandboxInfo::shares_copies.
  Result<bool> make(std::string_view sandbox,
                    const Limits& limits,
                    const std::string& image,
                    bool in_use);
  void remove(std::string_view sandbox) const;
  void remove_saved(std::string_view sandbox) const;

  // A sandbox of which only record and workspace are left, as a paused one.
  [[nodiscard]] std::optional<SandboxEntry> left_of(const SandboxRecord& record) const;

  // Removes what belongs to none of these sandboxes.
  void sweep(const std::set<std::string, std::less<>>& sandboxes) const;

 private:
  const std::string directory_;  // The keeper's; only looked at.
  keeper::KeeperClient& keeper_;
};

}  // namespace glovebox
