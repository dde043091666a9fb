// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/native/system_layer.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

#include "base/random.h"
#include "base/sys/kernel_abi.h"
#include "base/sys/memory_mount.h"
#include "base/sys/raw.h"
#include "base/sys/tree.h"
#include "base/sys/write_all.h"
#include "sandbox/cache_directory.h"
#include "sandbox/runtime_directory.h"
#include "sandbox/tiers/native/root_plan.h"
#include "sandbox/tiers/native/system_copy.h"

namespace glovebox {
namespace {

constexpr std::size_t kLargestSources = 4U << 20;

// A link to the layer that is current; and what the names of layers begin with.
constexpr const char* kCurrent = "current";
constexpr std::string_view kPrefix = "made.";
// What a layer holds.
constexpr const char* kEtc = "etc";
constexpr const char* kLocal = "local";
constexpr const char* kSources = "sources";

UniqueFd open_directory(int parent, const char* name) {
  return UniqueFd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool is_current(int layer) {
  const UniqueFd file(::openat(layer, kSources, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 ||
      static_cast<std::uint64_t>(status.st_size) > kLargestSources) {
    return false;
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  return ::pread(file.get(), text.data(), text.size(), 0) == std::ssize(text) && is_unchanged(text);
}

// Whether owners of its files can be shown as others (mount_setattr(2), MOUNT_ATTR_IDMAP).
bool maps_owners(int directory) {
  struct statfs system {};
  utsname kernel{};
  if (::fstatfs(directory, &system) != 0 || ::uname(&kernel) != 0) {
    return false;
  }
  int major = 0;
  int minor = 0;
  (void)std::sscanf(kernel.release, "%d.%d", &major, &minor);  // NOLINT(cert-err34-c)
  return system.f_type == TMPFS_MAGIC ? std::pair(major, minor) >= std::pair(6, 3)
                                      : system.f_type != OVERLAYFS_SUPER_MAGIC;
}

// Where layers are kept. It is ours alone: a writer there could give files to every sandbox.
struct Shelf {
  std::string path;
  UniqueFd directory;
};

Result<Shelf> open_shelf() {
  const std::string path = GB_TRY(own_cache_directory("system", 0700));
  UniqueFd directory = GB_TRY(open_private_directory(path));
  return Shelf{.path = path, .directory = std::move(directory)};
}

// That of a user who has no cache directory.
Result<Shelf> open_other_shelf() {
  (void)GB_TRY(open_runtime_directory());
  const std::string path = runtime_directory() + "/.system";
  UniqueFd directory = GB_TRY(open_private_directory(path));
  return Shelf{.path = path, .directory = std::move(directory)};
}

std::string current_name(int place) {
  std::array<char, 256> name{};
  return ::readlinkat(place, kCurrent, name.data(), name.size() - 1) > 0 ? name.data()
                                                                         : std::string();
}

// A process that has a layer holds its lock, and one that makes a layer holds the place's: before a
// layer is locked and its link is renamed, both look like remains of a process that was killed.
void remove_others(int place) {
  if (::flock(place, LOCK_EX | LOCK_NB) != 0) {
    return;  // Others make theirs, and remove these.
  }
  const std::string current = current_name(place);
  const int copy = ::openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy),
                                                    ::closedir);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  for (const dirent* entry = nullptr; entries && (entry = ::readdir(entries.get())) != nullptr;) {
    const std::string name = entry->d_name;
    if (!name.starts_with(kPrefix) || name == current) {
      continue;
    }
    const UniqueFd layer = open_directory(place, name.c_str());
    if (layer && ::flock(layer.get(), LOCK_EX | LOCK_NB) == 0) {
      (void)sys::remove_tree_at(place, name);
    } else if (!layer) {
      (void)::unlinkat(place, name.c_str(), 0);  // The link of a process that was killed.
    }
  }
  (void)::flock(place, LOCK_UN);
}

Result<void> fill(int layer) {
  if (::mkdirat(layer, kEtc, 0755) != 0 || ::mkdirat(layer, kLocal, 0755) != 0) {
    return Error::from_errno("create the directories of the system's layer");
  }
  const UniqueFd etc = open_directory(layer, kEtc);
  const UniqueFd local = open_directory(layer, kLocal);
  if (!etc || !local) {
    return Error::from_errno("open the directories of the system's layer");
  }
  const std::string sources = GB_TRY(copy_system(etc.get(), local.get()));
  const UniqueFd file(::openat(layer, kSources, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  return file && sys::write_all(file.get(), sources)
             ? Result<void>()
             : Error::from_errno("write what the system's layer came from");
}

Result<void> close_for_writing(const UniqueFd& mount) {
  const abi::MountAttr attributes{.attr_set = abi::kMountRdonly};
  const long set =
      sys::raw(SYS_mount_setattr, mount.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes);
  return set < 0 ? Error::from_errno("mount the system's layer read-only", static_cast<int>(-set))
                 : Result<void>();
}

}  // namespace

Result<SystemLayer> SystemLayer::make_in_memory() {
  SystemLayer layer;
  layer.etc_.mount = GB_TRY(sys::memory_mount());
  layer.local_.mount = GB_TRY(sys::memory_mount());
  (void)GB_TRY(copy_system(layer.etc_.mount.get(), layer.local_.mount.get()));
  GB_TRY(close_for_writing(layer.etc_.mount));
  GB_TRY(close_for_writing(layer.local_.mount));
  return layer;
}

Result<SystemLayer> SystemLayer::show(UniqueFd lock, const std::string& path) {
  SystemLayer layer;
  for (auto [directory, name] : {std::pair(&layer.etc_, kEtc), std::pair(&layer.local_, kLocal)}) {
    directory->mount = GB_TRY(take_along(lock.get(), name));
    directory->path = path + "/" + name;
  }
  layer.lock_ = std::move(lock);
  return layer;
}

Result<SystemLayer> SystemLayer::make(int place, const std::string& place_path) {
  const std::string name = std::string(kPrefix) + random_hex(8);
  const std::string link = name + ".link";
  if (::flock(place, LOCK_SH) != 0) {
    return Error::from_errno("lock " + place_path);
  }
  if (::mkdirat(place, name.c_str(), 0755) != 0) {
    return Error::from_errno("create " + place_path + "/" + name);
  }
  UniqueFd lock = open_directory(place, name.c_str());
  if (!lock || ::flock(lock.get(), LOCK_SH) != 0) {
    return Error::from_errno("lock " + place_path + "/" + name);
  }
  auto made = fill(lock.get());
  if (made && (::symlinkat(name.c_str(), place, link.c_str()) != 0 ||
               ::renameat(place, link.c_str(), place, kCurrent) != 0)) {
    made = Error::from_errno("name " + place_path + "/" + name);
  }
  if (!made) {
    (void)::unlinkat(place, link.c_str(), 0);
    (void)sys::remove_tree_at(place, name);
    return std::move(made).error();
  }
  remove_others(place);
  return show(std::move(lock), place_path + "/" + name);
}

Result<SystemLayer> SystemLayer::take() {
  auto shelf = open_shelf();
  if (::geteuid() == 0 && !(shelf && maps_owners(shelf->directory.get()))) {
    return make_in_memory();
  }
  if (!shelf) {
    shelf = open_other_shelf();
  }
  if (!shelf) {
    return std::move(shelf).error();
  }
  const int place = shelf->directory.get();
  if (const std::string name = current_name(place); !name.empty()) {
    // While somebody removes the layer, this waits, and then finds nothing in it.
    UniqueFd lock = open_directory(place, name.c_str());
    if (lock && ::flock(lock.get(), LOCK_SH) == 0 && is_current(lock.get())) {
      return show(std::move(lock), shelf->path + "/" + name);
    }
  }
  return make(place, shelf->path);
}

}  // namespace glovebox
