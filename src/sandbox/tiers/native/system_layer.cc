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
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "base/sys/tree.h"
#include "base/sys/write_all.h"
#include "sandbox/runtime_directory.h"

namespace glovebox {
namespace {

constexpr std::size_t kLargestText = 1U << 20;
constexpr std::size_t kLargestSources = 4U << 20;
constexpr std::size_t kMostCopied = 32;       // Of one directory's files;
constexpr std::size_t kMostInWhole = 4096;    // of all that is in one.
constexpr std::size_t kMostDirectories = 32;  // Of /usr/local.
constexpr int kDepth = 3;

// A link to the layer that is current; and what the names of layers begin with.
constexpr const char* kCurrent = ".system";
constexpr std::string_view kPrefix = ".system.";
constexpr const char* kSources = "/sources";

// Where the runtime directory's file system cannot show other owners.
constexpr const char* kOtherPlace = "/var/cache/glovebox";

// Directories of the host's /etc that are copied as a whole, as far as everybody may read it: none
// of them is for secrets.
constexpr std::array<const char*, 3> kWhole = {"alternatives", "pam.d", "ssl"};

// Directories of which the files that everybody may read are copied, and single files.
// Python's are what its packages' scripts read, and its own sitecustomize.py is a link to there.
// Of apt's, auth.conf.d is for passwords.
constexpr std::array<const char*, 13> kFilesOf = {"apt/apt.conf.d",
                                                  "apt/keyrings",
                                                  "apt/preferences.d",
                                                  "apt/sources.list.d",
                                                  "apt/trusted.gpg.d",
                                                  "default",
                                                  "dpkg",
                                                  "ld.so.conf.d",
                                                  "python3",
                                                  "python3.11",
                                                  "python3.13",
                                                  "security",
                                                  "skel"};
constexpr std::array<const char*, 19> kFiles = {
    "adduser.conf", "apt/sources.list", "bash.bashrc",  "ca-certificates.conf",
    "debconf.conf", "debian_version",   "deluser.conf", "host.conf",
    "ld.so.cache",  "ld.so.conf",       "localtime",    "login.defs",
    "pam.conf",     "profile",          "protocols",    "services",
    "shells",       "timezone",         "ucf.conf"};
constexpr std::array<const char*, 4> kEmpty = {"apt", "init.d", "profile.d", "dpkg"};
constexpr std::array<std::pair<const char*, const char*>, 2> kLinks = {
    {{"os-release", "../usr/lib/os-release"}, {"mtab", "../proc/self/mounts"}}};

using Listing = std::unique_ptr<DIR, int (*)(DIR*)>;

// What is another with any change of a file, or of a directory's entries: only the kernel sets the
// time of that. Zeroes where there is none. The list of sources has one in front of each path.
using Identity = std::array<std::uint64_t, 4>;

Identity identity_of(const char* path) {
  struct stat status {};
  if (::stat(path, &status) != 0) {
    return {};
  }
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_ctim.tv_sec),
          static_cast<std::uint64_t>(status.st_ctim.tv_nsec)};
}

// Writes a layer below `into`, and remembers what it came from.
class Maker {
 public:
  explicit Maker(std::string into) : into_(std::move(into)) {}

  Result<void> make() {
    directory("/etc");
    directory("/local");
    for (const char* const name : kEmpty) {
      directory(std::string("/etc/") + name);
    }
    for (const char* const name : kFilesOf) {
      files_of(std::string("/etc/") + name);
    }
    for (const char* const name : kFiles) {
      copy(std::string("/etc/") + name);
    }
    for (const auto& [name, target] : kLinks) {
      link(std::string("/etc/") + name, target);
    }
    for (const char* const name : kWhole) {
      whole(std::string("/etc/") + name);
    }
    directories_of_local();
    file(kSources, sources_);
    return failed_ == 0 ? Result<void>()
                        : Error::from_errno("copy the system's configuration", failed_);
  }

 private:
  void note(const std::string& path) {
    const Identity identity = identity_of(path.c_str());
    sources_.append(reinterpret_cast<const char*>(identity.data()), sizeof identity);
    sources_ += path;
    sources_ += '\0';
  }
  void keep_failure(bool done) {
    if (!done && failed_ == 0) {
      failed_ = errno;
    }
  }
  void directory(const std::string& path, std::uint32_t mode = 0755) {
    const std::string made = into_ + path;
    keep_failure((::mkdir(made.c_str(), mode) == 0 || errno == EEXIST) &&
                 ::chmod(made.c_str(), mode) == 0);
  }
  void link(const std::string& path, const char* target) {
    keep_failure(::symlink(target, (into_ + path).c_str()) == 0);
  }
  void file(const std::string& path, std::string_view text) {
    const UniqueFd made(
        ::open((into_ + path).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    keep_failure(made && ::fchmod(made.get(), 0644) == 0 && sys::write_all(made.get(), text));
  }

  // What everybody may read, unless it is absurdly large. Noted before it is read: what changes
  // meanwhile is not what was noted.
  void copy(const std::string& path) {
    note(path);
    const UniqueFd source(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status {};
    if (!source || ::fstat(source.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        (status.st_mode & S_IROTH) == 0 ||
        static_cast<std::uint64_t>(status.st_size) > kLargestText) {
      return;
    }
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    const ssize_t got = ::pread(source.get(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    if (!text.empty()) {
      file(path, text);
    }
  }

  template <typename Each>
  static void entries_of(const std::string& path, Each each) {
    const Listing entries(::opendir(path.c_str()), ::closedir);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
    for (const dirent* entry = nullptr; entries && (entry = ::readdir(entries.get())) != nullptr;) {
      const std::string_view name = entry->d_name;
      struct stat status {};
      if (name != "." && name != ".." &&
          ::fstatat(::dirfd(entries.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          !each(path + "/" + entry->d_name, status)) {
        return;
      }
    }
  }

  void files_of(const std::string& path) {
    note(path);
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
      return;
    }
    directory(path);
    std::size_t copied = 0;
    entries_of(path, [&](const std::string& entry, const struct stat& seen) {
      if (S_ISREG(seen.st_mode)) {
        copy(entry);
        ++copied;
      }
      return copied < kMostCopied;
    });
  }

  // Level by level. A directory that is not for everybody stays empty, and closed.
  void whole(const std::string& top) {
    std::deque<std::string> waiting = {top};
    std::size_t seen_entries = 0;
    for (; !waiting.empty(); waiting.pop_front()) {
      const std::string path = waiting.front();
      note(path);
      struct stat status {};
      if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        continue;
      }
      directory(path, status.st_mode & 01777);
      if ((status.st_mode & S_IXOTH) == 0) {
        continue;
      }
      entries_of(path, [&](const std::string& entry, const struct stat& seen) {
        if (S_ISDIR(seen.st_mode)) {
          waiting.push_back(entry);
        } else if (S_ISLNK(seen.st_mode)) {
          std::array<char, 4096> target{};
          if (::readlink(entry.c_str(), target.data(), target.size() - 1) > 0) {
            link(entry, target.data());
          }
        } else {
          copy(entry);
        }
        return ++seen_entries < kMostInWhole;
      });
    }
  }

  void directories_of_local() {
    const std::string top = "/usr/local";
    std::deque<std::pair<std::string, int>> waiting = {{top, kDepth}};
    for (std::size_t made = 0; !waiting.empty(); waiting.pop_front()) {
      const auto [path, levels] = waiting.front();
      note(path);
      entries_of(path, [&, levels = levels](const std::string& entry, const struct stat& seen) {
        if (S_ISDIR(seen.st_mode) && (seen.st_mode & S_IXOTH) != 0) {
          directory("/local" + entry.substr(top.size()), seen.st_mode & 01777);
          if (levels > 1) {
            waiting.emplace_back(entry, levels - 1);
          }
          ++made;
        }
        return made < kMostDirectories;
      });
      if (made == kMostDirectories) {
        return;
      }
    }
  }

  const std::string into_;
  std::string sources_;
  int failed_ = 0;
};

bool is_current(int layer) {
  const UniqueFd file(::openat(layer, kSources + 1, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || status.st_size == 0 ||
      static_cast<std::uint64_t>(status.st_size) > kLargestSources) {
    return false;
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  if (::pread(file.get(), text.data(), text.size(), 0) != std::ssize(text)) {
    return false;
  }
  Identity noted{};
  for (std::size_t at = 0; at < text.size();) {
    if (text.size() - at <= sizeof noted) {
      return false;
    }
    std::memcpy(noted.data(), text.data() + at, sizeof noted);
    const char* const path = text.c_str() + at + sizeof noted;
    if (identity_of(path) != noted) {
      return false;
    }
    at += sizeof noted + std::strlen(path) + 1;
  }
  return true;
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

Result<std::string> find_place() {
  const UniqueFd runtime = GB_TRY(open_runtime_directory());
  if (::geteuid() == 0 && !maps_owners(runtime.get())) {
    const auto other = open_private_directory(kOtherPlace);
    if (other && maps_owners(other->get())) {
      return std::string(kOtherPlace);
    }
  }
  return runtime_directory();
}

UniqueFd open_directory(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::string current_name(const std::string& place) {
  std::array<char, 256> name{};
  return ::readlink((place + "/" + kCurrent).c_str(), name.data(), name.size() - 1) > 0
             ? name.data()
             : std::string();
}

// Whoever has a layer holds its lock.
void remove_others(const std::string& place) {
  const std::string current = current_name(place);
  const Listing entries(::opendir(place.c_str()), ::closedir);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  for (const dirent* entry = nullptr; entries && (entry = ::readdir(entries.get())) != nullptr;) {
    const std::string name = entry->d_name;
    if (!name.starts_with(kPrefix) || name == current) {
      continue;
    }
    const UniqueFd layer = open_directory(place + "/" + name);
    if (layer && ::flock(layer.get(), LOCK_EX | LOCK_NB) == 0) {
      (void)sys::remove_tree(place + "/" + name);
    }
  }
}

}  // namespace

Result<SystemLayer> SystemLayer::make(const std::string& place) {
  const std::string name = std::string(kPrefix) + random_hex(8);
  const std::string path = place + "/" + name;
  if (::mkdir(path.c_str(), 0755) != 0) {
    return Error::from_errno("create " + path);
  }
  UniqueFd lock = open_directory(path);
  if (!lock || ::flock(lock.get(), LOCK_SH) != 0) {
    return Error::from_errno("lock " + path);
  }
  const std::string link = path + ".link";
  auto made = Maker(path).make();
  if (made && (::symlink(name.c_str(), link.c_str()) != 0 ||
               ::rename(link.c_str(), (place + "/" + kCurrent).c_str()) != 0)) {
    made = Error::from_errno("name " + path);
  }
  if (!made) {
    (void)::unlink(link.c_str());
    (void)sys::remove_tree(path);
    return std::move(made).error();
  }
  remove_others(place);
  return SystemLayer(std::move(lock), path);
}

Result<SystemLayer> SystemLayer::take() {
  const std::string place = GB_TRY(find_place());
  if (const std::string name = current_name(place); !name.empty()) {
    // While somebody removes it this waits, and then finds nothing in it.
    UniqueFd lock = open_directory(place + "/" + name);
    if (lock && ::flock(lock.get(), LOCK_SH) == 0 && is_current(lock.get())) {
      return SystemLayer(std::move(lock), place + "/" + name);
    }
  }
  return make(place);
}

}  // namespace glovebox
