// SPDX-License-Identifier: Apache-2.0
#include "service/templates/root_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/digest/digest.h"
#include "base/json/json.h"
#include "base/sys/beneath.h"
#include "base/sys/tree.h"
#include "base/text.h"
#include "sandbox/foreign_root.h"
#include "service/templates/image_reader.h"

namespace glovebox {
namespace {

// Changes whenever a root of the same source would come out differently.
constexpr std::uint64_t kImageFormat = 2;
constexpr std::size_t kMostFilesOfArchive = 10'000;
constexpr std::size_t kMostAtTop = 64;

Result<UniqueFd> open_image(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return Error::from_errno("open " + printable(path));
  }
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return Error(ErrorCode::kInvalid,
                 "'" + printable(path) + "' is neither a file nor a directory");
  }
  return fd;
}

bool is_directory(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

// A layout's index names everything else by digest, so its hash is the hash of all.
Result<std::string> hash_of_image(int fd, ImageFormat format) {
  if (!is_directory(fd)) {
    return hash_of_file(fd);
  }
  if (format == ImageFormat::kRootfs) {
    return Error(ErrorCode::kInvalid, "a root file system must be a tar archive");
  }
  const ImageFormat found = format == ImageFormat::kEither ? format_of(fd) : format;
  auto index =
      sys::open_beneath(fd, found == ImageFormat::kOci ? "index.json" : "manifest.json", O_RDONLY);
  if (!index) {
    return Error(ErrorCode::kInvalid, "the directory contains no image",
                 "name an OCI image layout: a directory with the file index.json");
  }
  return hash_of_file(index->get());
}

// An error if not all of it could be written: a root without its configuration would be kept.
Result<void> write_beside(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? Result<void>() : Error::from_errno("write what the image says");
}

std::string text_of(const Environment& env) {
  std::string text;
  for (const auto& [name, value] : env) {
    text += name + '=' + value + '\0';
  }
  return text;
}

Environment read_environment(const std::string& path) {
  std::ifstream file(path);
  Environment env;
  for (std::string line; std::getline(file, line, '\0');) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) {
      env.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
  }
  return env;
}

// Nothing for a root that comes from no image.
Result<ImageConfig> read_config(const std::string& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return text.empty() ? Result<ImageConfig>(ImageConfig()) : read_image_config(text);
}

Result<RootContent> found(Content content, bool cached) {
  Environment env = read_environment(content.path() + "/environment");
  ImageConfig config = GB_TRY(read_config(content.path() + "/config.json"));
  return RootContent{.content = std::move(content),
                     .cached = cached,
                     .env = std::move(env),
                     .config = std::move(config)};
}

// How large the content of an archive may be. One that compresses better was made to do so.
Result<std::uint64_t> most_unpacked(int archive) {
  constexpr std::uint64_t kMostShrunk = 10;
  struct stat status {};
  std::array<unsigned char, 4> start{};
  if (::fstat(archive, &status) != 0 ||
      ::pread(archive, start.data(), start.size(), 0) != static_cast<ssize_t>(start.size())) {
    return Error(ErrorCode::kInvalid, "the image contains no files");
  }
  const bool gzip = start[0] == 0x1f && start[1] == 0x8b;
  const bool zstd = start == std::array<unsigned char, 4>{0x28, 0xb5, 0x2f, 0xfd};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return gzip || zstd ? size * kMostShrunk : size;
}

// The archiver's writes count against nobody, so what it may write is counted before it starts.
Result<std::size_t> unpack_counted(int layer, int root, UnpackBounds& left, BuildMonitor& monitor) {
  UnpackBounds bounds = left;
  bounds.bytes = std::min(left.bytes, GB_TRY(most_unpacked(layer)));
  GB_TRY(monitor.spend(bounds.bytes));
  left.bytes -= bounds.bytes;
  const std::size_t left_out =
      GB_TRY(unpack_layer(layer, root, bounds, [&monitor] { return monitor.wanted(); }));
  left = {.bytes = left.bytes + bounds.bytes, .entries = bounds.entries};
  return left_out;
}

// The directory of the image: itself, or what its archive holds.
Result<UniqueFd> open_layout(int image, const std::string& scratch, BuildMonitor& monitor) {
  if (is_directory(image)) {
    return UniqueFd(::openat(image, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  if (::mkdir(scratch.c_str(), 0700) != 0) {
    return Error::from_errno("unpack an image");
  }
  UniqueFd directory(::open(scratch.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  UnpackBounds bounds{.entries = kMostFilesOfArchive};
  bounds.bytes = std::min(bounds.bytes, GB_TRY(most_unpacked(image)));
  GB_TRY(monitor.spend(bounds.bytes));
  const auto wanted = [&monitor] { return monitor.wanted(); };
  GB_TRY(unpack_archive_of_image(image, directory.get(), bounds, wanted));
  return directory;
}

std::size_t directories_in(const std::string& path) {
  std::size_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    count += at->symlink_status(error).type() == std::filesystem::file_type::directory ? 1 : 0;
  }
  return count;
}

Result<void> unpack_image(int image,
                          const ImageFile& wish,
                          const std::string& draft,
                          BuildMonitor& monitor) {
  const std::string root_path = draft + "/root";
  const UniqueFd root(::open(root_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto wanted = [&monitor] { return monitor.wanted(); };
  UnpackBounds left;
  std::size_t left_out = 0;
  if (wish.format == ImageFormat::kRootfs) {
    left_out = GB_TRY(unpack_counted(image, root.get(), left, monitor));
  } else {
    const std::string scratch = draft + "/image";
    const UniqueFd layout = GB_TRY(open_layout(image, scratch, monitor));
    const ImageFormat format =
        wish.format == ImageFormat::kEither ? format_of(layout.get()) : wish.format;
    const ContainerImage described =
        GB_TRY(read_container_image(layout.get(), format, wish.image, wanted));
    for (std::size_t i = 0; i < described.layers.size(); ++i) {
      monitor.log("layer " + std::to_string(i + 1) + " of " +
                  std::to_string(described.layers.size()) + "\n");
      const UniqueFd layer = GB_TRY(sys::open_beneath(layout.get(), described.layers[i], O_RDONLY));
      left_out += GB_TRY(unpack_counted(layer.get(), root.get(), left, monitor));
    }
    GB_TRY(write_beside(draft + "/environment", text_of(described.env)));
    GB_TRY(write_beside(draft + "/config.json", to_json(described.config).dump()));
    if (described.config.has_healthcheck) {
      monitor.log("the image's HEALTHCHECK has no effect: a sandbox is ready when it is created\n");
    }
    GB_TRY(sys::remove_tree(scratch));
  }
  if (left_out > 0) {
    monitor.log("skipped " + std::to_string(left_out) + " devices, FIFOs and sockets\n");
  }
  GB_TRY(check_root_top(root_path));
  return prepare_foreign_root(root.get());
}

Result<ContentDraft> begin_root(const ContentStore& store) {
  ContentDraft draft = GB_TRY(store.begin());
  if (::mkdir((draft.path() + "/root").c_str(), 0755) != 0) {
    return Error::from_errno("create a template's root");
  }
  return draft;
}

}  // namespace

Result<void> check_root_top(const std::string& root) {
  std::error_code error;
  if (std::filesystem::is_empty(root, error)) {
    return Error(ErrorCode::kInvalid, "the image contains no files");
  }
  if (directories_in(root) > kMostAtTop || directories_in(root + "/opt") > kMostAtTop) {
    return Error(ErrorCode::kInvalid, "the image has more than " + std::to_string(kMostAtTop) +
                                          " top-level directories, or directories in /opt");
  }
  return {};
}

Result<RootContent> root_from_image(const ImageFile& image,
                                    const ContentStore& store,
                                    BuildMonitor& monitor) {
  const UniqueFd fd = GB_TRY(open_image(image.path));
  ContentHash hash;
  hash.add("image").add(kImageFormat).add(to_string(image.format));
  hash.add(GB_TRY(hash_of_image(fd.get(), image.format)));
  if (!image.image.empty()) {
    hash.add(image.image);
  }
  const std::string key = hash.hex();
  if (auto there = store.find(key)) {
    return found(*std::move(there), true);
  }
  ContentDraft draft = GB_TRY(begin_root(store));
  GB_TRY(unpack_image(fd.get(), image, draft.path(), monitor));
  return found(GB_TRY(store.commit(std::move(draft), key)), false);
}

}  // namespace glovebox
