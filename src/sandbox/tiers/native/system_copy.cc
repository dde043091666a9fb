// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/native/system_copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "base/digest/digest.h"
#include "base/sys/write_all.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

constexpr std::string_view kEtc = "/etc/";
constexpr std::string_view kLocal = "/usr/local";

constexpr std::size_t kLargestText = 1U << 20;
constexpr std::size_t kMostCopied = 32;       // Of one directory's files;
constexpr std::size_t kMostInWhole = 4096;    // of all that is in one.
constexpr std::size_t kMostDirectories = 32;  // Of /usr/local.
constexpr int kDepth = 3;

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
constexpr std::array<const char*, 3> kEmpty = {"apt", "init.d", "profile.d"};
constexpr std::array<std::pair<const char*, const char*>, 2> kLinks = {
    {{"os-release", "../usr/lib/os-release"}, {"mtab", "../proc/self/mounts"}}};

// Of all of the above: a program with other lists makes copies of its own.
const std::string& recipe() {
  static const std::string kRecipe = [] {
    std::string text = "1";  // How the lists are read.
    using Names = std::span<const char* const>;
    for (const Names names : {Names(kWhole), Names(kFilesOf), Names(kFiles), Names(kEmpty)}) {
      for (const char* const name : names) {
        text.append(name) += '\n';
      }
      text += '\n';
    }
    for (const auto& [name, target] : kLinks) {
      text.append(name).append(" ").append(target) += '\n';
    }
    return sha256_hex(text);
  }();
  return kRecipe;
}

using Listing = std::unique_ptr<DIR, int (*)(DIR*)>;

// Differs after any change of a file, or of a directory's entries: only the kernel sets the time of
// that change. Zeroes if there is none. A description has one in front of each path.
using Identity = std::array<std::uint64_t, 4>;

Identity identity_of(const char* path) {
  struct stat status {};
  if (::stat(path, &status) != 0) {
    return {};
  }
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_ctim.tv_sec),
          static_cast<std::uint64_t>(status.st_ctim.tv_nsec)};
}

class Copier {
 public:
  Copier(int etc, int local) : etc_(etc), local_(local) {}

  Result<std::string> copy() {
    for (const char* const name : kEmpty) {
      directory(in_etc(name), 0755);
    }
    for (const char* const name : kFilesOf) {
      files_of(in_etc(name));
    }
    for (const char* const name : kFiles) {
      copy(in_etc(name));
    }
    for (const auto& [name, target] : kLinks) {
      link(in_etc(name), target);
    }
    for (const char* const name : kWhole) {
      whole(in_etc(name));
    }
    directories_of_local();
    if (failed_ != 0) {
      return Error::from_errno("copy the system's configuration", failed_);
    }
    return std::move(sources_);
  }

 private:
  static std::string in_etc(const char* name) { return std::string(kEtc) + name; }

  // Where the copy of what is at `path` on the host lies.
  struct Place {
    int directory;
    std::string name;
  };
  [[nodiscard]] Place place_of(const std::string& path) const {
    return path.starts_with(kEtc) ? Place{etc_, path.substr(kEtc.size())}
                                  : Place{local_, path.substr(kLocal.size() + 1)};
  }

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
  void directory(const std::string& path, std::uint32_t mode) {
    const Place place = place_of(path);
    keep_failure((::mkdirat(place.directory, place.name.c_str(), mode) == 0 || errno == EEXIST) &&
                 ::fchmodat(place.directory, place.name.c_str(), mode, 0) == 0);
  }
  void link(const std::string& path, const char* target) {
    const Place place = place_of(path);
    keep_failure(::symlinkat(target, place.directory, place.name.c_str()) == 0);
  }
  void file(const std::string& path, std::string_view text) {
    const Place place = place_of(path);
    const UniqueFd made(::openat(place.directory, place.name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
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
    directory(path, 0755);
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
    std::deque<std::pair<std::string, int>> waiting = {{std::string(kLocal), kDepth}};
    for (std::size_t made = 0; !waiting.empty(); waiting.pop_front()) {
      const auto [path, levels] = waiting.front();
      note(path);
      entries_of(path, [&, levels = levels](const std::string& entry, const struct stat& seen) {
        if (S_ISDIR(seen.st_mode) && (seen.st_mode & S_IXOTH) != 0) {
          directory(entry, seen.st_mode & 01777);
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

  const int etc_;
  const int local_;
  std::string sources_ = recipe();
  int failed_ = 0;
};

}  // namespace

Result<std::string> copy_system(int etc, int local) { return Copier(etc, local).copy(); }

bool is_unchanged(const std::string& sources) {
  if (!sources.starts_with(recipe())) {
    return false;
  }
  Identity noted{};
  for (std::size_t at = recipe().size(); at < sources.size();) {
    if (sources.size() - at <= sizeof noted) {
      return false;
    }
    std::memcpy(noted.data(), sources.data() + at, sizeof noted);
    const char* const path = sources.c_str() + at + sizeof noted;
    if (identity_of(path) != noted) {
      return false;
    }
    at += sizeof noted + std::strlen(path) + 1;
  }
  return true;
}

}  // namespace glovebox
