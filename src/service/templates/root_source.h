// SPDX-License-Identifier: Apache-2.0
// Roots for templates, from images.
#pragma once

#include <string>

#include "base/result.h"
#include "service/templates/build_monitor.h"
#include "service/templates/content_store.h"
#include "service/templates/recipe.h"

namespace glovebox {

// A piece with a directory "root" in it, prepared for sandboxes.
struct RootContent {
  Content content;
  bool cached = false;
  Environment env{};     // That an image wants set.
  ImageConfig config{};  // How an image is run.
};

// Whether a directory can be the root of sandboxes: each directory at its top, and in /opt, becomes
// a mount of all of them.
Result<void> check_root_top(const std::string& root);

Result<RootContent> root_from_image(const ImageFile& image,
                                    const ContentStore& store,
                                    BuildMonitor& monitor);

}  // namespace glovebox
