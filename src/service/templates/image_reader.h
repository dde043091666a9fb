// SPDX-License-Identifier: Apache-2.0
// Reads archives of container images by glovebox-archiver, under walls of its own: a tenant made
// them, and this process is worth too much to parse them.
#pragma once

#include <functional>

#include "archiver/layer_unpack.h"
#include "base/result.h"

namespace glovebox {

// Unpacks the archive, a regular file, into the directory: regular files and directories alone,
// nothing for others to read. `wanted` is asked now and then; false ends it with kUnavailable.
Result<void> unpack_archive_of_image(int archive_fd,
                                     int directory_fd,
                                     const UnpackBounds& bounds,
                                     const std::function<bool()>& wanted);

// As LayerUnpacker::unpack(), over all layers of an image: takes from `left` what this one needs.
// Returns how many devices, FIFOs and sockets were left out. Nobody else may change the root
// meanwhile.
Result<std::size_t> unpack_layer(int layer_fd,
                                 int root_fd,
                                 UnpackBounds& left,
                                 const std::function<bool()>& wanted);

}  // namespace glovebox
