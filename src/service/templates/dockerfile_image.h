// SPDX-License-Identifier: Apache-2.0
// Images among the files that a Dockerfile comes with, which its stages can begin with:
// oci-archive:PATH[:IMAGE] and docker-archive:PATH[:IMAGE].
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "service/templates/build_sandbox.h"
#include "service/templates/root_source.h"

namespace glovebox {

struct ImageInContext {
  ImageFormat format = ImageFormat::kOci;
  std::string path;   // In the build context.
  std::string image;  // Its name in the archive; empty: the only one.
};

// Nothing for a name that stands for something else.
std::optional<ImageInContext> image_in_context(const std::string& name);

// Its root, as that of an image that was imported. kInvalid if there is no such file, or it is not
// such an image.
Result<RootContent> root_from_context(BuildSandbox& context,
                                      const ImageInContext& image,
                                      const ContentStore& store,
                                      BuildMonitor& monitor);

}  // namespace glovebox
