// SPDX-License-Identifier: Apache-2.0
#include "warden/archive.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <limits>

#include "base/archive/tar.h"

namespace glovebox::warden {
namespace {

Result<void> add(const Workspace& workspace,
                 TarWriter& writer,
                 const std::string& path,
                 std::uint64_t& left) {
  const auto file = workspace.open(path, O_RDONLY);
  struct stat status {};
  if (!file || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > left) {
    return {};  // Gone or swapped since it was listed, or too large.
  }
  left -= static_cast<std::uint64_t>(status.st_size);
  return writer.add_file(path, file->get());
}

}  // namespace

Result<void> unpack(const Workspace& workspace, std::string_view directory, int input_fd) {
  // Links may point anywhere: inside, they give a guest nothing that it has not. The size of it all
  // is the file system's to limit.
  constexpr TarRules kRules{.symlinks = true,
                            .max_bytes = std::numeric_limits<std::int64_t>::max()};
  if (directory.empty()) {
    return extract_tar(input_fd, workspace.descriptor(), kRules, nullptr);
  }
  GB_TRY(workspace.make_parents(std::string(directory) + "/"));
  const UniqueFd target = GB_TRY(workspace.open(directory, O_RDONLY | O_DIRECTORY));
  return extract_tar(input_fd, target.get(), kRules, nullptr);
}

Result<void> pack(const Workspace& workspace, const PackRequest& request, int output_fd) {
  TarWriter writer = GB_TRY(TarWriter::create(output_fd));
  std::uint64_t left = request.max_bytes;
  if (request.changed_only) {
    for (const FileChange& change : workspace.changes().files) {
      if (change.kind != FileChange::Kind::kDeleted) {
        GB_TRY(add(workspace, writer, change.path, left));
      }
    }
  } else {
    bool truncated = false;
    for (const auto& [path, seen] : workspace.walk(request.path, truncated)) {
      GB_TRY(add(workspace, writer, path, left));
    }
  }
  return writer.finish();
}

}  // namespace glovebox::warden
