// SPDX-License-Identifier: Apache-2.0
// Disk images: sparse files that hold an ext4 file system of a fixed size and number of inodes.
//
// What is in one comes from guests, by way of the kernel's ext4 alone: nobody but root may write
// the file itself (mode 0600), because the kernel does not promise to survive a file system that
// was made to hurt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// What a guest can put into it; what ext4 needs for itself comes on top.
struct ImageShape {
  Bytes size;
  std::uint32_t inodes = 0;
  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

// The largest and smallest of each that we make: mkfs gives smaller ones no journal.
inline constexpr Bytes kLeastImage = 4_MiB;
inline constexpr Bytes kMostImage = 1024_GiB;
inline constexpr std::uint32_t kLeastInodes = 16;
inline constexpr std::uint32_t kMostInodes = 64U << 20;

// Whether this process can make and attach images here: as root, with loop devices, ext4 and
// mkfs.ext4. kUnsupported names what is missing and how to get it.
Result<void> images_usable();

// Makes an empty image at `path`, which must not exist (kConflict), durably. Its root directory
// belongs to the guest's ids. One of each shape is kept in `stock`, a directory of ours that is
// made when it is missing, and copied: making a file system takes 100 times as long as that.
Result<void> make_image(const std::string& path, const ImageShape& shape, const std::string& stock);

// A new file for an image, which only root can access. kConflict if there is one.
Result<UniqueFd> create_image_file(const std::string& path);
// Its name as well as its bytes are on stable storage afterwards.
Result<void> make_durable(int file, const std::string& path);

// Runs one of the mkfs programs, quietly: its words, the program's path first.
Result<void> run_mkfs(const std::vector<std::string>& words);
// The path of "mkfs.ext4" and the like; empty if it is not installed.
std::string find_mkfs(std::string_view name);

// Copies an image that nobody has attached, durably: without copying any data if the file system
// can do that (FICLONE), else all but the holes. kConflict when `to` exists.
Result<void> copy_image(const std::string& from, const std::string& to);

// Copies the bytes of `from` to the empty file `to`: as copy_image(), by descriptors, until
// `deadline_ns` of the monotonic clock. Returns zero or an errno; makes system calls only.
int copy_contents(int from, int to, std::int64_t deadline_ns) noexcept;

}  // namespace glovebox
