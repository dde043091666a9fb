// SPDX-License-Identifier: Apache-2.0
// LayerUnpacker: whatever a layer of an image says, nothing appears outside of its root, nothing in
// it is a device or has a set-user-id bit, and no more is unpacked than is allowed.
#include "archiver/layer_unpack.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/unique_fd.h"
#include "require.h"
#include "scratch.h"

namespace {

namespace fs = std::filesystem;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // What a link or a ".." reaches beyond the root lands here.
  static const Scratch place;
  const fs::path root = place.path / "root";
  fs::create_directory(root);
  const glovebox::UniqueFd root_fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const glovebox::UniqueFd layer(::memfd_create("layer", MFD_CLOEXEC));
  require(root_fd && layer);
  require(::write(layer.get(), data, size) == static_cast<ssize_t>(size));
  require(::lseek(layer.get(), 0, SEEK_SET) == 0);

  constexpr glovebox::UnpackBounds kBounds{.bytes = 1 << 20, .entries = 200};
  glovebox::LayerUnpacker unpacker(root_fd.get(), kBounds, [] { return true; });
  (void)unpacker.unpack(layer.get());

  std::size_t outside = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(place.path)) {
    ++outside;
  }
  require(outside == 1);
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    struct stat status {};
    require(::lstat(entry.path().c_str(), &status) == 0);
    require(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode));
    require(S_ISLNK(status.st_mode) || (status.st_mode & (S_ISUID | S_ISGID)) == 0);
    bytes += S_ISREG(status.st_mode) && status.st_nlink == 1
                 ? static_cast<std::uintmax_t>(status.st_size)
                 : 0;
  }
  require(bytes <= kBounds.bytes);
  fs::remove_all(root);
  return 0;
}
