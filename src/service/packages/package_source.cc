// SPDX-License-Identifier: Apache-2.0
#include "service/packages/package_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/digest/digest.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

constexpr std::size_t kMaxFiles = 10'000;

// A file that changed this recently may change again without its times telling (stat(2): they have
// the granularity of the file system).
constexpr std::time_t kSettled = 2;

constexpr std::array<std::string_view, 4> kPipEndings = {".whl", ".tar.gz", ".zip", ".tar.bz2"};
constexpr std::array<std::string_view, 2> kNpmEndings = {".tgz", ".tar.gz"};

bool is_package(PackageManager manager, std::string_view name) {
  const auto fits = [name](std::string_view ending) { return name.ends_with(ending); };
  return manager == PackageManager::kPip ? std::ranges::any_of(kPipEndings, fits)
                                         : std::ranges::any_of(kNpmEndings, fits);
}

// Stays the same for as long as nobody has written to the file.
std::string identity(const struct stat& status) {
  std::ostringstream text;
  text << status.st_dev << ' ' << status.st_ino << ' ' << status.st_size << ' '
       << status.st_mtim.tv_sec << ' ' << status.st_mtim.tv_nsec << ' ' << status.st_ctim.tv_sec
       << ' ' << status.st_ctim.tv_nsec;
  return text.str();
}

// Hashes by identity, in a file of our own: "HASH IDENTITY" lines.
class HashMemory {
 public:
  explicit HashMemory(std::string path) : path_(std::move(path)) {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      if (const std::size_t space = line.find(' '); space != std::string::npos) {
        known_[line.substr(space + 1)] = line.substr(0, space);
      }
    }
  }

  Result<std::string> hash(int fd, const struct stat& status) {
    const std::string key = identity(status);
    if (const auto found = known_.find(key); found != known_.end()) {
      kept_.insert(*found);
      return found->second;
    }
    std::string hash = GB_TRY(hash_of_file(fd));
    if (status.st_ctim.tv_sec + kSettled < std::time(nullptr)) {
      kept_[key] = hash;
    }
    return hash;
  }

  // What cannot be remembered is hashed again next time.
  void save() const {
    if (kept_ == known_) {
      return;
    }
    const std::string made = path_ + "." + std::to_string(::getpid());
    std::ofstream file(made);
    for (const auto& [key, hash] : kept_) {
      file << hash << ' ' << key << '\n';
    }
    file.close();
    if (!file || ::rename(made.c_str(), path_.c_str()) != 0) {
      (void)::unlink(made.c_str());
    }
  }

 private:
  std::string path_;
  std::map<std::string, std::string> known_;
  std::map<std::string, std::string> kept_;
};

Error unreadable(const std::string& path) {
  return {ErrorCode::kInvalid, "the sandbox could not read '" + printable(path) + "'",
          "the guest runs as an unprivileged user: run 'chmod -R a+rX' on the directory"};
}

// The guest of root is another user; anybody else's has the rights that we have.
bool guest_may(mode_t mode, mode_t rights) { return ::geteuid() != 0 || (mode & rights) == rights; }

}  // namespace

Result<PackageSource> PackageSource::open(const std::string& path) {
  std::array<char, PATH_MAX> real{};
  struct stat status {};
  if (::realpath(path.c_str(), real.data()) == nullptr || ::stat(real.data(), &status) != 0) {
    return Error(ErrorCode::kInvalid, Error::from_errno("open '" + printable(path) + "'").message(),
                 "pass a directory of wheels or npm tarballs ('npm pack')");
  }
  if (!S_ISDIR(status.st_mode)) {
    return Error(ErrorCode::kInvalid, "'" + printable(path) + "' is not a directory",
                 "pass the directory that contains the packages");
  }
  if (!guest_may(status.st_mode, S_IROTH | S_IXOTH)) {
    return unreadable(path);
  }
  return PackageSource(real.data());
}

Result<std::vector<PackageFile>> PackageSource::files(PackageManager manager,
                                                      const std::string& memory) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path_.c_str()), ::closedir);
  if (!directory) {
    return Error(ErrorCode::kInvalid,
                 Error::from_errno("read '" + printable(path_) + "'").message(),
                 "check its permissions");
  }
  ContentHash place;
  HashMemory known(memory + "/" + place.add(path_).add(to_string(manager)).hex());
  std::vector<PackageFile> found;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): each stream is read by one thread.
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (!is_package(manager, name)) {
      continue;
    }
    const UniqueFd file(
        ::openat(::dirfd(directory.get()), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !guest_may(status.st_mode, S_IROTH)) {
      return unreadable(path_ + "/" + name);
    }
    if (!S_ISREG(status.st_mode)) {
      continue;
    }
    const std::string hash = GB_TRY(known.hash(file.get(), status));
    found.push_back(
        {.name = name, .size = static_cast<std::uint64_t>(status.st_size), .hash = hash});
    if (found.size() > kMaxFiles) {
      return Error(
          ErrorCode::kInvalid,
          "more than " + std::to_string(kMaxFiles) + " packages in '" + printable(path_) + "'",
          "use a directory with fewer packages");
    }
  }
  known.save();
  std::ranges::sort(found);
  return found;
}

}  // namespace glovebox
