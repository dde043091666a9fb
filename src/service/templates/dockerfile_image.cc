// SPDX-License-Identifier: Apache-2.0
#include "service/templates/dockerfile_image.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "service/templates/dockerfile_copy.h"

namespace glovebox {

std::optional<ImageInContext> image_in_context(const std::string& name) {
  for (const auto& [prefix, format] : {std::pair("oci-archive:", ImageFormat::kOci),
                                       std::pair("docker-archive:", ImageFormat::kDocker)}) {
    if (name.starts_with(prefix)) {
      const std::string rest = name.substr(std::string_view(prefix).size());
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      return ImageInContext{.format = format,
                            .path = rest.substr(0, colon),
                            .image = rest.substr(std::min(colon + 1, rest.size()))};
    }
  }
  return std::nullopt;
}

Result<RootContent> root_from_context(BuildSandbox& context,
                                      const ImageInContext& image,
                                      const ContentStore& store,
                                      BuildMonitor& monitor) {
  const std::vector<CopiedItem> items =
      GB_TRY(collect(context, {.sources = {image.path}, .top = TemplateParts().home}));
  if (items.size() != 1 || items.front().kind != CopiedItem::Kind::kFile) {
    return Error(
        ErrorCode::kInvalid,
        "'" + printable(image.path.substr(0, 200)) + "' is not a file of the build context",
        "name the archive of an image, for example: FROM docker-archive:image.tar");
  }
  return root_from_image({.format = image.format,
                          .path = "/proc/self/fd/" + std::to_string(items.front().content.fd.get()),
                          .image = image.image},
                         store, monitor);
}

}  // namespace glovebox
