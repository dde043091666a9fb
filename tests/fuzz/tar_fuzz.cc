// SPDX-License-Identifier: Apache-2.0
// extract_tar(): whatever the archive says, nothing is made or changed outside its directory, no
// more is written than the rules allow, and every file that was told of is there.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/archive/tar.h"
#include "base/unique_fd.h"
#include "require.h"

namespace {

namespace fs = std::filesystem;
using namespace glovebox;

constexpr std::string_view kCanary = "untouched";
constexpr std::uint64_t kMaxBytes = 256 * 1024;
constexpr std::size_t kMaxEntries = 64;

std::string make_scratch() {
  std::string path = "/dev/shm/tar_fuzz.XXXXXX";
  require(::mkdtemp(path.data()) != nullptr);
  return path;
}

void write_canary(const fs::path& path) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  require(::write(file.get(), kCanary.data(), kCanary.size()) ==
          static_cast<ssize_t>(kCanary.size()));
}

// A directory that archives are extracted into, and the neighbours that they must leave alone.
class Scene {
 public:
  Scene() : root_(make_scratch()) {
    fs::create_directory(root_ / "sibling");
    write_canary(root_ / "canary");
    write_canary(root_ / "sibling" / "canary");
    reset();
  }
  ~Scene() { fs::remove_all(root_); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] fs::path inside() const { return root_ / "inside"; }

  // As a workspace may look: a file, a directory, and links that lead out.
  void reset() {
    fs::remove_all(inside());
    fs::create_directory(inside());
    fs::create_directory(inside() / "d");
    fs::create_symlink("../sibling", inside() / "out");
    fs::create_symlink("../canary", inside() / "c");
  }

  void require_neighbours_untouched() const {
    std::size_t found = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      const std::string name = entry.path().lexically_relative(root_).string();
      if (name == "inside" || name.starts_with("inside/")) {
        continue;
      }
      ++found;
      require(name == "canary" || name == "sibling" || name == "sibling/canary");
    }
    require(found == 3);
    for (const fs::path& canary : {root_ / "canary", root_ / "sibling" / "canary"}) {
      struct stat status {};
      require(::lstat(canary.c_str(), &status) == 0);
      require(S_ISREG(status.st_mode) && (status.st_mode & 07777) == 0640);
      require(status.st_nlink == 1 && status.st_size == static_cast<off_t>(kCanary.size()));
      std::string content(kCanary.size(), '\0');
      const UniqueFd file(::open(canary.c_str(), O_RDONLY | O_CLOEXEC));
      require(::read(file.get(), content.data(), content.size()) == status.st_size);
      require(content == kCanary);
    }
  }

 private:
  fs::path root_;
};

UniqueFd archive_of(std::string_view bytes) {
  UniqueFd fd(::memfd_create("archive", MFD_CLOEXEC));
  require(fd &&
          ::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  (void)::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

// Only regular files within the rules, directories, and links where those are allowed.
void require_rules_held(const fs::path& inside, const TarRules& rules) {
  for (const auto& entry : fs::recursive_directory_iterator(inside)) {
    struct stat status {};
    require(::lstat(entry.path().c_str(), &status) == 0);
    if (S_ISREG(status.st_mode)) {
      require(static_cast<std::uint64_t>(status.st_size) <= 2 * rules.max_bytes);
      require((status.st_mode & 07000) == 0);
      require((status.st_mode & 0777 & ~(rules.mode_mask | 0600U)) == 0);
    } else if (S_ISLNK(status.st_mode)) {
      const std::string name = entry.path().lexically_relative(inside).string();
      require(rules.symlinks || name == "out" || name == "c");
    } else {
      require(S_ISDIR(status.st_mode));
    }
  }
}

}  // namespace

// The first byte chooses the rules; the rest is the archive.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Scene scene;
  if (size == 0) {
    return 0;
  }
  scene.reset();
  const TarRules rules{.symlinks = (data[0] & 1) != 0,
                       .max_bytes = kMaxBytes,
                       .max_entries = kMaxEntries,
                       .mode_mask = (data[0] & 2) != 0 ? 0777U : 0755U};
  const UniqueFd input = archive_of({reinterpret_cast<const char*>(data) + 1, size - 1});
  const UniqueFd directory(::open(scene.inside().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::size_t told = 0;
  const auto extracted =
      extract_tar(input.get(), directory.get(), rules, [&](std::string_view name) {
        ++told;
        require(!name.empty() && !name.starts_with('/'));
        struct stat status {};
        require(::fstatat(directory.get(), std::string(name).c_str(), &status,
                          AT_SYMLINK_NOFOLLOW) == 0);
        require(S_ISREG(status.st_mode));
      });
  require(told <= kMaxEntries);
  require(extracted.has_value() || !extracted.error().message().empty());
  scene.require_neighbours_untouched();
  require_rules_held(scene.inside(), rules);
  return 0;
}
