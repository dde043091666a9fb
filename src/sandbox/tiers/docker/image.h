// SPDX-License-Identifier: Apache-2.0
// The image that a container of ours starts from.
//
// GLOVEBOX_DOCKER_IMAGE names it; the engine must have that image, because nothing is ever pulled.
// Without the variable it is an empty image of our own, which we give to an engine that lacks it:
// the host's /usr is shown in it, as in the other tiers.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sandbox/tiers/docker/engine.h"

namespace glovebox::docker {

struct Image {
  std::string name;
  bool own_system = false;  // Brings /usr and /etc; otherwise the host's are shown.
};

// As the environment says. `home` is the guest's: an image of ours has a link /workspace to it.
Image wanted_image(std::string_view home);

// kUnsupported if a named image is missing or cannot be confined.
Result<void> check_image(const Engine& engine, const Image& image);

// Gives the engine an image of ours.
Result<void> make_image(const Engine& engine, const Image& image, std::string_view home);

}  // namespace glovebox::docker
