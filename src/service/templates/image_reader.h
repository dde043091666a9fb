// SPDX-License-Identifier: Apache-2.0
// Reads archives of container images, and trees that were made from them, by glovebox-archiver,
// under walls of its own: a tenant made them, and parsing them here would put this process at risk.
#pragma once

#include <functional>
#include <string>
#include <string_view>

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

// Takes the next bytes of an archive. An error that it returns ends the work.
using PutBytes = std::function<Result<void>(std::string_view bytes)>;

// A directory and all below it, as archiver::export_tree() writes them: the same bytes for the same
// files, without the end of an archive.
Result<void> pack_tree(int directory_fd,
                       const std::string& prefix,
                       const PutBytes& put,
                       const std::function<bool()>& wanted);

}  // namespace glovebox
