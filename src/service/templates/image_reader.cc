// SPDX-License-Identifier: Apache-2.0
#include "service/templates/image_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include "base/confined/program.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr auto kMostTime = 30min;
constexpr std::size_t kMostSaid = 256;
// Messages, which come on top of the content in what the kernel counts.
constexpr std::uint64_t kSlack = 64 << 10;
// Of a tree: what a root may hold, each file with its head.
constexpr std::uint64_t kMostPacked = 16ULL << 30;

Result<std::string> run_archiver(const std::string& task,
                                 int archive_fd,
                                 int directory_fd,
                                 const UnpackBounds& bounds,
                                 const std::function<bool()>& wanted) {
  if (::lseek(archive_fd, 0, SEEK_SET) != 0) {
    return Error::from_errno("read the image");
  }
  std::string said;
  const confined::Job job{
      .program = "glovebox-archiver",
      .arguments = {task, std::to_string(bounds.bytes), std::to_string(bounds.entries)},
      .attempt = "unpack the image",
      .breach = "an archive in it is damaged",
      .directory = directory_fd,
      .input = archive_fd,
      .time = kMostTime,
      .most_written = bounds.bytes + kSlack,
      .output = [&said](std::string_view piece) -> Result<void> {
        said.append(piece.substr(0, kMostSaid - said.size()));
        return {};
      },
      .wanted = wanted};
  if (const auto done = confined::run_confined(job); !done) {
    // If it exceeds a bound, it will the next time, too.
    const bool beyond = done.error().code() == ErrorCode::kExhausted;
    return Error(beyond ? ErrorCode::kInvalid : done.error().code(), done.error().message(),
                 done.error().hint());
  }
  return said;
}

}  // namespace

Result<void> unpack_archive_of_image(int archive_fd,
                                     int directory_fd,
                                     const UnpackBounds& bounds,
                                     const std::function<bool()>& wanted) {
  (void)GB_TRY(run_archiver("image", archive_fd, directory_fd, bounds, wanted));
  return {};
}

Result<std::size_t> unpack_layer(int layer_fd,
                                 int root_fd,
                                 UnpackBounds& left,
                                 const std::function<bool()>& wanted) {
  std::istringstream said(GB_TRY(run_archiver("layer", layer_fd, root_fd, left, wanted)));
  UnpackBounds after;
  std::size_t left_out = 0;
  if (!(said >> after.bytes >> after.entries >> left_out)) {
    return Error(ErrorCode::kInternal, "the archiver did not report what it unpacked");
  }
  // Whatever it says, there is never more left than before.
  left = {.bytes = std::min(left.bytes, after.bytes),
          .entries = std::min(left.entries, after.entries)};
  return left_out;
}

Result<void> pack_tree(int directory_fd,
                       const std::string& prefix,
                       const PutBytes& put,
                       const std::function<bool()>& wanted) {
  return confined::run_confined({.program = "glovebox-archiver",
                                 .arguments = {"export", prefix},
                                 .attempt = "pack the template's files",
                                 .breach = "its files cannot be read",
                                 .directory = directory_fd,
                                 .time = kMostTime,
                                 .most_written = kMostPacked,
                                 .output = put,
                                 .wanted = wanted});
}

}  // namespace glovebox
