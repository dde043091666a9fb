// SPDX-License-Identifier: Apache-2.0
// Archives of files: tar, plain or gzip.
#pragma once

#include <cstdint>
#include <string_view>

#include "archiver/layer_unpack.h"
#include "base/result.h"

namespace glovebox::archiver {

// Reads a tar archive from `input_fd` and creates its directories, regular files and symbolic
// links below `directory`, a path from the workspace `root_fd`. Absolute names, "..", hard links,
// devices, and anything that would write through a link are refused with the entry's name.
Result<void> unpack(int root_fd, std::string_view directory, int input_fd);

// Reads paths, each ended by a zero byte, from `names_fd`, and writes a tar archive of the regular
// files of those names to `output_fd`. Leaves out files larger than what is left of `max_bytes`,
// and names that are no longer regular files.
Result<void> pack(int root_fd, std::uint64_t max_bytes, int names_fd, int output_fd);

// The same for the archive of a container image, which holds only regular files and directories.
// Nobody else may read or run any of them.
Result<void> unpack_image(int directory_fd, const UnpackBounds& bounds, int input_fd);

}  // namespace glovebox::archiver
