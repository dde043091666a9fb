// SPDX-License-Identifier: Apache-2.0
#include "service/packages/layer_store.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "base/sys/draft_directory.h"
#include "base/sys/tree.h"
#include "base/text.h"
#include "sandbox/cache_directory.h"
#include "service/packages/layer_seal.h"

namespace glovebox {
namespace {

std::string seal_path(const std::string& layer) { return layer + "/seal"; }

Error cannot_keep(const std::string& attempt) {
  return Error::from_errno(attempt).with_hint(kCacheHint);
}

// The names in a directory, without the dots.
std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): each stream is read by one thread.
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") {
      names.push_back(name);
    }
  }
  return names;
}

Result<LayerSeal> read_seal(const std::string& layer) {
  std::ifstream file(seal_path(layer));
  return LayerSeal::decode({std::istreambuf_iterator<char>(file), {}});
}

bool is_whole(const std::string& layer) {
  const auto sealed = read_seal(layer);
  const auto now = seal_of(layer + "/files");
  return sealed && now && sealed.value() == now.value();
}

}  // namespace

LayerDraft::~LayerDraft() {
  if (lock_) {
    (void)sys::remove_tree(path_);
  }
}

Result<LayerStore> LayerStore::open_default() { return open(cache_directory("layers")); }

Result<LayerStore> LayerStore::open(const std::string& directory) {
  const LayerStore store(directory);
  GB_TRY(make_cache_directories(store.memory()));
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) {
    return cannot_keep("open " + printable(directory));
  }
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    // Anybody who can write there could give other code to every sandbox that asks for a package.
    return Error(ErrorCode::kRefused, "'" + printable(directory) + "' is writable by other users",
                 "remove it, or set XDG_CACHE_HOME to another cache directory");
  }
  return store;
}

Result<std::optional<Layer>> LayerStore::find(const std::string& key) const {
  const std::string path = directory_ + "/" + key;
  UniqueFd held = lock_directory(path, LOCK_SH);
  if (!held) {
    return std::optional<Layer>();
  }
  if (!is_whole(path)) {
    held.reset();
    remove(path);
    return std::optional<Layer>();
  }
  // When it was last used. Without the right to set this, the layer is only removed sooner.
  (void)::utimensat(AT_FDCWD, seal_path(path).c_str(), nullptr, 0);
  return std::optional<Layer>(Layer(key, path, std::move(held)));
}

Result<LayerDraft> LayerStore::begin() const {
  sweep_drafts(directory_);
  auto made = make_draft_directory(directory_);
  if (!made) {
    return made.error().code() == ErrorCode::kUnavailable
               ? std::move(made).error()
               : std::move(made).error().with_hint(kCacheHint);
  }
  LayerDraft draft(std::move(made->path), std::move(made->lock));
  if (::mkdir(draft.files().c_str(), 0755) != 0) {
    return cannot_keep("create " + printable(draft.files()));
  }
  return draft;
}

Result<Layer> LayerStore::commit(LayerDraft draft, const std::string& key, Bytes max) const {
  GB_TRY(make_read_only(draft.files()));
  const LayerSeal seal = GB_TRY(seal_of(draft.files()));
  std::ofstream file(seal_path(draft.path_));
  file << seal.encode();
  file.close();
  if (!file) {
    return cannot_keep("write " + printable(seal_path(draft.path_)));
  }
  const std::string path = directory_ + "/" + key;
  if (::rename(draft.path_.c_str(), path.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) {
      return cannot_keep("store " + printable(path));
    }
    if (auto other = GB_TRY(find(key))) {
      return std::move(*other);
    }
    // Theirs was broken, and is gone now.
    if (::rename(draft.path_.c_str(), path.c_str()) != 0) {
      return cannot_keep("store " + printable(path));
    }
  }
  // From here on the draft's lock is the layer's. Downgrading it releases it for a moment.
  UniqueFd held = std::move(draft.lock_);
  if (::flock(held.get(), LOCK_SH) != 0 || !is_named(held.get(), path)) {
    return Error(ErrorCode::kUnavailable, "'" + printable(path) + "' was removed in the meantime",
                 "try again");
  }
  Layer layer(key, path, std::move(held));
  trim(max);
  return layer;
}

void LayerStore::remove(const std::string& path) const {
  const UniqueFd held = lock_directory(path, LOCK_EX | LOCK_NB);
  if (!held) {
    return;
  }
  if (const std::string away = take_name(directory_, path); !away.empty()) {
    (void)sys::remove_tree(away);
  }
}

void LayerStore::trim(Bytes max) const {
  struct Kept {
    std::time_t used;
    std::uint64_t bytes;
    std::string path;
  };
  std::vector<Kept> kept;
  std::uint64_t total = 0;
  for (const std::string& name : names_in(directory_)) {
    const std::string path = directory_ + "/" + name;
    struct stat status {};
    const auto seal = read_seal(path);
    if (!name.starts_with('.') && seal && ::stat(seal_path(path).c_str(), &status) == 0) {
      kept.push_back({status.st_mtim.tv_sec, seal->bytes, path});
      total += seal->bytes;
    }
  }
  std::ranges::sort(kept, {}, &Kept::used);
  for (const Kept& layer : kept) {
    if (total <= max.count) {
      return;
    }
    remove(layer.path);
    if (::access(layer.path.c_str(), F_OK) != 0) {
      total -= layer.bytes;
    }
  }
}

}  // namespace glovebox
