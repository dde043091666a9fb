// SPDX-License-Identifier: Apache-2.0
#include "archiver/export_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>  // NOLINT(modernize-deprecated-headers): PATH_MAX is POSIX's.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/archive/tar_stream.h"
#include "base/sys/beneath.h"
#include "base/sys/write_all.h"

namespace glovebox::archiver {
namespace {

Result<void> put(int fd, std::string_view bytes) {
  return sys::write_all(fd, bytes) ? Result<void>() : Error::from_errno("write the archive");
}

// Without what differs between two trees of the same files.
struct stat without_history(struct stat status) {
  status.st_mtim = {};
  status.st_blocks = status.st_size / 512 + 1;  // No holes.
  return status;
}

Result<std::vector<std::string>> sorted_names(int directory) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy),
                                                    ::closedir);
  if (!entries) {
    return Error::from_errno("read a directory");
  }
  std::vector<std::string> names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* const entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

class Exporter {
 public:
  Exporter(int root, const std::string& prefix, int output)
      : root_(root),
        prefix_(prefix),
        stream_([output](std::string_view bytes) { return put(output, bytes); }) {}

  Result<void> run() {
    waiting_.emplace_back(".");
    while (!waiting_.empty()) {
      const std::string path = std::move(waiting_.back());
      waiting_.pop_back();
      GB_TRY(add(path));
    }
    return {};
  }

 private:
  [[nodiscard]] std::string name_of(const std::string& path) const {
    return path == "." ? prefix_ : prefix_ + "/" + path;
  }

  Result<void> add(const std::string& path) {
    struct stat status {};
    const std::size_t slash = path.rfind('/');
    const UniqueFd parent = GB_TRY(sys::open_beneath(
        root_, slash == std::string::npos ? "." : path.substr(0, slash), O_PATH | O_DIRECTORY));
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    if (::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return Error::from_errno("read '" + path + "'");
    }
    if (S_ISDIR(status.st_mode)) {
      return add_directory(path, without_history(status));
    }
    if (S_ISLNK(status.st_mode)) {
      return add_link(parent.get(), name, path, without_history(status));
    }
    return S_ISREG(status.st_mode) ? add_file(path, status) : Result<void>();
  }

  // Its content comes next, before all that waits.
  Result<void> add_directory(const std::string& path, const struct stat& status) {
    GB_TRY(stream_.add_directory(name_of(path) + "/", status));
    const UniqueFd directory = GB_TRY(sys::open_beneath(root_, path, O_RDONLY | O_DIRECTORY));
    std::vector<std::string> names = GB_TRY(sorted_names(directory.get()));
    for (std::size_t i = names.size(); i-- > 0;) {
      std::string below = path == "." ? std::move(names[i]) : path + "/" + names[i];
      if (below.size() < PATH_MAX) {
        waiting_.push_back(std::move(below));
      }
    }
    return {};
  }

  Result<void> add_link(int parent,
                        const std::string& name,
                        const std::string& path,
                        const struct stat& status) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(parent, name.c_str(), target.data(), target.size());
    if (size < 0) {
      return Error::from_errno("read '" + path + "'");
    }
    return stream_.add_link(name_of(path), status, {target.data(), static_cast<std::size_t>(size)});
  }

  Result<void> add_file(const std::string& path, const struct stat& status) {
    if (status.st_nlink > 1) {
      const auto [first, is_new] =
          linked_.try_emplace({status.st_dev, status.st_ino}, name_of(path));
      if (!is_new) {
        return stream_.add_hard_link(name_of(path), without_history(status), first->second);
      }
    }
    const UniqueFd file = GB_TRY(sys::open_beneath(root_, path, O_RDONLY));
    struct stat opened {};
    if (::fstat(file.get(), &opened) != 0 || !S_ISREG(opened.st_mode)) {
      return Error(ErrorCode::kConflict, "'" + path + "' has changed");
    }
    return stream_.add_file(name_of(path), without_history(opened), file.get());
  }

  const int root_;
  const std::string& prefix_;
  TarStream stream_;
  std::vector<std::string> waiting_;  // The next one last.
  // The first name of each file that has several.
  std::map<std::pair<dev_t, ino_t>, std::string> linked_;
};

}  // namespace

Result<void> export_tree(int directory_fd, const std::string& prefix, int output_fd) {
  return Exporter(directory_fd, prefix, output_fd).run();
}

}  // namespace glovebox::archiver
