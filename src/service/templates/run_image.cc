// SPDX-License-Identifier: Apache-2.0
#include "service/templates/run_image.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "sandbox/cache_directory.h"
#include "service/templates/dockerfile_image.h"
#include "service/templates/image_workspace.h"
#include "service/templates/registry_image.h"
#include "service/templates/root_source.h"

namespace glovebox {
namespace {

bool is_there(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

// Nothing for the name of an image of a registry.
std::optional<ImageFile> file_named(const std::string& reference) {
  if (is_there(reference)) {
    return ImageFile{.format = ImageFormat::kEither, .path = reference};
  }
  constexpr std::string_view kLayout = "oci:";
  auto named = image_in_context(reference.starts_with(kLayout)
                                    ? "oci-archive:" + reference.substr(kLayout.size())
                                    : reference);
  if (named) {
    return ImageFile{.format = named->format, .path = named->path, .image = named->image};
  }
  // A registry's image has neither a dot nor a slash in front.
  if (reference.starts_with('/') || reference.starts_with('.')) {
    return ImageFile{.format = ImageFormat::kEither, .path = reference};
  }
  return std::nullopt;
}

Result<RootContent> find_root(const std::string& reference,
                              const BuildNetwork& network,
                              const ContentStore& store,
                              BuildMonitor& monitor) {
  if (const auto file = file_named(reference)) {
    if (!is_there(file->path)) {
      return Error(ErrorCode::kNotFound, "no image '" + printable(file->path) + "'",
                   "name an OCI layout, an archive written by 'docker save', or an image of a "
                   "registry");
    }
    return root_from_image(*file, store, monitor);
  }
  const RegistryImage image = GB_TRY(parse_registry_image(reference));
  const ContentDraft scratch = GB_TRY(store.begin());
  return root_from_registry(image, network, store, scratch.path(), monitor);
}

}  // namespace

Result<RunImage> open_run_image(const std::string& reference,
                                const BuildNetwork& network,
                                BuildMonitor& monitor) {
  const ContentStore store = GB_TRY(ContentStore::open(GB_TRY(own_cache_directory("images"))));
  store.sweep_drafts();  // Of runs that were killed.
  RootContent root = GB_TRY(find_root(reference, network, store, monitor));
  RunImage opened;
  opened.shown.home = home_of(root.config).value_or(TemplateParts().home);
  opened.config =
      with_usable_directory(std::move(root.config), root.content, opened.shown.home, monitor);
  opened.shown.root = root.content.path() + "/root";
  opened.shown.directory = opened.config.directory;
  opened.shown.env = std::move(root.env);
  if (auto files = GB_TRY(workspace_of_root(root.content, opened.shown.home, store, monitor))) {
    opened.shown.workspace = files->content.path() + "/home.tar";
    opened.held.push_back(std::move(files->content));
  }
  opened.held.push_back(std::move(root.content));
  return opened;
}

}  // namespace glovebox
