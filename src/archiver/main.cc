// SPDX-License-Identifier: Apache-2.0
// glovebox-archiver: the one program of ours that reads archives, which may be made to hurt.
//
// "unpack" and "pack" are for the files of a sandbox: its warden starts them there, so they have
// its walls and limits, and a filter of their own that leaves them little more than moving bytes
// and files. "layer", "image" and "export" are for container images, outside of sandboxes: they
// build walls of their own (confine_self()), in which the working directory is all that there is.
//
// Standard input and output carry the data; complaints go to standard error.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string>
#include <string_view>

#include "archiver/archive.h"
#include "archiver/export_tree.h"
#include "archiver/filter.h"
#include "archiver/layer_unpack.h"
#include "base/confined/confine.h"
#include "base/unique_fd.h"

namespace glovebox::archiver {
namespace {

constexpr std::string_view kUsage =
    "usage: glovebox-archiver unpack DIRECTORY | pack MAX_BYTES | layer BYTES ENTRIES | "
    "image BYTES ENTRIES | export PREFIX";

// Of zstd's windows 128 MiB is the largest that libarchive takes.
constexpr std::uint64_t kMemory = 512ULL << 20;
constexpr std::uint64_t kCpuSeconds = 30 * 60;

Result<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  if (const auto read = std::from_chars(text.data(), end, number);
      read.ec != std::errc() || read.ptr != end) {
    return Error(ErrorCode::kInvalid, std::string(kUsage));
  }
  return number;
}

Result<UniqueFd> open_directory() {
  UniqueFd directory(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory ? Result<UniqueFd>(std::move(directory))
                   : Error::from_errno("open the workspace");
}

Result<UnpackBounds> confine_for_image(std::string_view bytes, std::string_view entries) {
  UnpackBounds bounds;
  bounds.bytes = GB_TRY(number_in(bytes));
  bounds.entries = GB_TRY(number_in(entries));
  GB_TRY(confined::confine_self(
      {.memory = kMemory, .cpu_seconds = kCpuSeconds, .file_size = bounds.bytes},
      confined::Root::kEnter, filter_for_roots()));
  return bounds;
}

// Says on standard output what later layers may still have, and what was left out.
Result<void> unpack_layer(UnpackBounds bounds) {
  const UniqueFd root = GB_TRY(open_directory());
  LayerUnpacker unpacker(root.get(), bounds, {});
  GB_TRY(unpacker.unpack(STDIN_FILENO));
  const std::string left = std::to_string(unpacker.left().bytes) + " " +
                           std::to_string(unpacker.left().entries) + " " +
                           std::to_string(unpacker.left_out());
  return ::write(STDOUT_FILENO, left.data(), left.size()) == static_cast<ssize_t>(left.size())
             ? Result<void>()
             : Error::from_errno("write the remaining data");
}

Result<void> work(std::span<const std::string_view> words) {
  const std::string_view task = words.empty() ? "" : words[0];
  if (task == "layer" && words.size() == 3) {
    return unpack_layer(GB_TRY(confine_for_image(words[1], words[2])));
  }
  if (task == "image" && words.size() == 3) {
    const UnpackBounds bounds = GB_TRY(confine_for_image(words[1], words[2]));
    const UniqueFd directory = GB_TRY(open_directory());
    return unpack_image(directory.get(), bounds, STDIN_FILENO);
  }
  if (task == "export" && words.size() == 2) {
    (void)give_up_changes();
    GB_TRY(confined::confine_self({.memory = kMemory, .cpu_seconds = kCpuSeconds},
                                  confined::Root::kEnter, filter_for_reading()));
    const UniqueFd directory = GB_TRY(open_directory());
    return export_tree(directory.get(), std::string(words[1]), STDOUT_FILENO);
  }
  const UniqueFd root = GB_TRY(open_directory());
  GB_TRY(confined::install_filter(filter_for_files()));
  if (task == "unpack" && words.size() <= 2) {
    return unpack(root.get(), words.size() == 2 ? words[1] : "", STDIN_FILENO);
  }
  if (task == "pack" && words.size() == 2) {
    return pack(root.get(), GB_TRY(number_in(words[1])), STDIN_FILENO, STDOUT_FILENO);
  }
  return Error(ErrorCode::kInvalid, std::string(kUsage));
}

}  // namespace
}  // namespace glovebox::archiver

int main(int argc, char** argv) {
  std::array<std::string_view, 3> words{};
  const auto count = static_cast<std::size_t>(argc > 0 ? argc - 1 : 0);
  for (std::size_t i = 0; i < count && i < words.size(); ++i) {
    words[i] = argv[i + 1];
  }
  return glovebox::confined::exit_status_of(
      glovebox::archiver::work(std::span(words).first(std::min(count, words.size()))));
}
