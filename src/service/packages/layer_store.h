// SPDX-License-Identifier: Apache-2.0
// LayerStore: directories of installed packages, each made once and then shared read-only.
//
// A layer is kept in "<store>/<key>": its "files", which sandboxes see, and beside them a "seal",
// which says what belongs there. It is built in a directory of its own and gets its name by one
// rename, so that a name always means a whole layer, even if others build the same one at the same
// time or are killed while doing so. Each user of a layer holds a lock on its directory (flock(2)),
// which the kernel drops with the process; a layer that nobody holds can be removed.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// A layer in use: it is not removed while this lives.
class Layer {
 public:
  [[nodiscard]] const std::string& key() const { return key_; }
  // The directory to mount, on the host.
  [[nodiscard]] std::string files() const { return path_ + "/files"; }

 private:
  friend class LayerStore;
  Layer(std::string key, std::string path, UniqueFd lock)
      : key_(std::move(key)), path_(std::move(path)), lock_(std::move(lock)) {}

  std::string key_;
  std::string path_;
  UniqueFd lock_;
};

// A layer that is being built. Removed again unless it is committed.
class LayerDraft {
 public:
  LayerDraft(LayerDraft&&) noexcept = default;
  LayerDraft& operator=(LayerDraft&&) = delete;
  LayerDraft(const LayerDraft&) = delete;
  LayerDraft& operator=(const LayerDraft&) = delete;
  ~LayerDraft();

  // To be filled with regular files and directories only.
  [[nodiscard]] std::string files() const { return path_ + "/files"; }

 private:
  friend class LayerStore;
  LayerDraft(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  UniqueFd lock_;
};

class LayerStore {
 public:
  // All layers together take no more of the disk than this, except those in use.
  static constexpr Bytes kMaxTotal = 4_GiB;

  // In cache_directory("layers").
  static Result<LayerStore> open_default();
  // In `directory`, which must be ours alone to write to. Makes it.
  static Result<LayerStore> open(const std::string& directory);

  // The layer of this key, if there is one that is whole: the same names, sizes, modes and times as
  // were sealed. Any other is removed.
  [[nodiscard]] Result<std::optional<Layer>> find(const std::string& key) const;

  // Starts one. Removes what killed builders left.
  [[nodiscard]] Result<LayerDraft> begin() const;

  // Makes the draft the layer of `key`, read-only. If another process was faster, returns that
  // one's. Then the layers that were not used for longest are removed until the rest are no larger
  // than `max`, but none that is in use.
  [[nodiscard]] Result<Layer> commit(LayerDraft draft,
                                     const std::string& key,
                                     Bytes max = kMaxTotal) const;

  // A directory for what may be forgotten at any time.
  [[nodiscard]] std::string memory() const { return directory_ + "/.memory"; }

 private:
  explicit LayerStore(std::string directory) : directory_(std::move(directory)) {}
  void remove(const std::string& path) const;
  void trim(Bytes max) const;

  std::string directory_;
};

}  // namespace glovebox
