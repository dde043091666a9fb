// SPDX-License-Identifier: Apache-2.0
#include "service/templates/image_workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>
#include <utility>

#include "base/archive/tar_stream.h"
#include "base/digest/digest.h"
#include "base/sys/beneath.h"
#include "base/text.h"
#include "service/templates/build_sandbox.h"
#include "service/templates/image_reader.h"
#include "service/templates/recipe.h"

namespace glovebox {
namespace {

// Changes whenever the workspace of the same root would come out differently.
constexpr std::uint64_t kImageWorkspaceFormat = 1;

bool is_empty(int directory) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy),
                                                    ::closedir);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  for (const dirent* entry = nullptr; entries && (entry = ::readdir(entries.get())) != nullptr;) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      return false;
    }
  }
  return true;
}

Result<void> pack(int directory, const std::string& archive, BuildMonitor& monitor) {
  // For the daemon, if that is another user: the store lets in nobody else.
  const UniqueFd file(
      ::open(archive.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::fchmod(file.get(), 0644) != 0) {
    return Error::from_errno("create an archive");
  }
  const auto put = [&](std::string_view bytes) -> Result<void> {
    GB_TRY(monitor.spend(bytes.size()));
    return write_content(file.get(), bytes);
  };
  GB_TRY(pack_tree(directory, ".", put, [&monitor] { return monitor.wanted(); }));
  return TarStream(put).finish();
}

}  // namespace

Result<std::optional<WorkspaceContent>> workspace_of_root(const Content& root,
                                                          const std::string& home,
                                                          const ContentStore& store,
                                                          BuildMonitor& monitor) {
  using Found = std::optional<WorkspaceContent>;
  const UniqueFd top(::open((root.path() + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto directory = sys::open_beneath(top.get(), home.substr(1), O_RDONLY | O_DIRECTORY);
  if (!directory || is_empty(directory->get())) {
    return Found();
  }
  const std::string key =
      ContentHash().add("workspace of").add(kImageWorkspaceFormat).add(root.key()).add(home).hex();
  if (auto there = store.find(key)) {
    return Found(WorkspaceContent{.content = *std::move(there), .cached = true});
  }
  ContentDraft draft = GB_TRY(store.begin());
  GB_TRY(pack(directory->get(), draft.path() + "/home.tar", monitor));
  return Found(
      WorkspaceContent{.content = GB_TRY(store.commit(std::move(draft), key)), .cached = false});
}

std::optional<std::string> home_of(const ImageConfig& config) {
  Recipe named;
  named.name = "template";
  named.home = config.directory;
  return config.directory.starts_with("/home/") && validate(named) ? std::optional(config.directory)
                                                                   : std::nullopt;
}

ImageConfig with_usable_directory(ImageConfig config,
                                  const Content& root,
                                  const std::string& home,
                                  BuildMonitor& monitor) {
  const std::string& directory = config.directory;
  if (directory.empty() || directory == home) {
    config.directory.clear();
    return config;
  }
  const UniqueFd top(::open((root.path() + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const bool is_top = directory.find_first_not_of('/') == std::string::npos;
  std::string why(is_top ? std::string_view() : not_kept(directory, home));
  if (why.empty() && !is_top &&
      !sys::open_beneath(top.get(), directory.substr(1), O_PATH | O_DIRECTORY)) {
    why = "no directory of the image";
  }
  if (!why.empty()) {
    monitor.log("the image's WORKDIR '" + printable(directory.substr(0, 200)) + "' is " + why +
                ": commands begin in " + home + "\n");
    config.directory.clear();
  }
  return config;
}

}  // namespace glovebox
