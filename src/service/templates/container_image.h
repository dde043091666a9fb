// SPDX-License-Identifier: Apache-2.0
// Container images as directories: an OCI layout, or what `docker save` packs.
//
// Sources: OCI image specification 1.1 (layout, index, manifest, configuration); the image
// specification v1.2 of Docker for manifest.json. All of it is anybody's: digests are compared, and
// nothing is opened outside the directory.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/templates/image_config.h"
#include "spec/command.h"

namespace glovebox {

// kEither is one of the first two, whichever the file turns out to be.
enum class ImageFormat { kOci, kDocker, kRootfs, kEither };
// "oci", "docker", "rootfs"; kInvalid for others.
Result<ImageFormat> parse_image_format(const std::string& name);
std::string to_string(ImageFormat format);

// kOci or kDocker, for the directory of an image.
ImageFormat format_of(int directory_fd);

// What images call this processor: "amd64", for example.
std::string_view architecture();

struct ContainerImage {
  std::vector<std::string> layers;  // Files below the directory, the lowest first.
  Environment env;                  // That the image wants set.
  ImageConfig config;               // How it is run.
};

// Reads the description in the directory, and compares every digest that it names. `name` picks one
// of several images: as the archive has it, or for Docker's also NAME for NAME:latest, and a tag
// alone if only one image has it. If empty, the only one; versions for other processors do
// not count. `wanted` is asked now and then; false ends it with kUnavailable. kRootfs is not a
// directory of this kind.
Result<ContainerImage> read_container_image(int directory_fd,
                                            ImageFormat format,
                                            const std::string& name,
                                            const std::function<bool()>& wanted);

}  // namespace glovebox
