// SPDX-License-Identifier: Apache-2.0
#include "service/templates/image_layer.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>  // NOLINT(modernize-deprecated-headers): PATH_MAX is POSIX's.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "base/archive/tar_stream.h"
#include "service/templates/build_sandbox.h"

namespace glovebox {
namespace {

// In every sandbox, whatever its template; container runtimes mount them, too.
constexpr std::array<std::pair<const char*, std::uint32_t>, 7> kOfEverySandbox = {{{"dev", 0755},
                                                                                   {"home", 0755},
                                                                                   {"opt", 0755},
                                                                                   {"proc", 0555},
                                                                                   {"run", 0755},
                                                                                   {"sys", 0555},
                                                                                   {"tmp", 01777}}};

struct stat status_of(std::uint32_t mode) {
  struct stat status {};
  status.st_mode = mode;
  return status;
}

Result<UniqueFd> open_tree(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return fd ? Result<UniqueFd>(std::move(fd)) : Error::from_errno("open the template's files");
}

}  // namespace

Result<ImageLayer> ImageLayer::open(const TemplateParts& parts,
                                    const ContentStore& store,
                                    const ContentDraft& draft,
                                    BuildMonitor& monitor) {
  ImageLayer layer(monitor);
  for (const auto& [name, mode] : kOfEverySandbox) {
    layer.entries_[name].mode = mode;
  }
  GB_TRY(layer.add_root(store.path_of(parts.root) + "/root"));
  for (const Mount& mount : view_packages(parts, store, {}).mounts) {
    const std::string path = mount.target.substr(1);
    layer.add_parents(path);
    GB_TRY(layer.add_tree(path, mount.source));
  }
  GB_TRY(layer.add_workspace(parts, store, draft));
  return layer;
}

Result<void> ImageLayer::add_root(const std::string& root) {
  const UniqueFd top = GB_TRY(open_tree(root));
  GB_TRY(add_below(top.get(), ""));
  const UniqueFd opt(::openat(top.get(), "opt", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return opt ? add_below(opt.get(), "opt/") : Result<void>();
}

// Directories and links, as sandboxes show them.
Result<void> ImageLayer::add_below(int directory, const std::string& prefix) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy),
                                                    ::closedir);
  if (!entries) {
    return Error::from_errno("read the template's root");
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* const item = ::readdir(entries.get())) {
    const std::string name = item->d_name;
    if (name == "." || name == ".." ||
        (prefix.empty() ? is_own_directory(name) : name == "glovebox")) {
      continue;
    }
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    if (size > 0) {
      entries_[prefix + name] = {.kind = Entry::Kind::kLink,
                                 .target = {target.data(), static_cast<std::size_t>(size)}};
      continue;
    }
    UniqueFd tree(
        ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (tree) {
      entries_[prefix + name] = {.kind = Entry::Kind::kTree, .tree = std::move(tree)};
    }
  }
  return {};
}

void ImageLayer::add_parents(const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    entries_.try_emplace(path.substr(0, slash));
  }
}

Result<void> ImageLayer::add_tree(const std::string& path, const std::string& source) {
  auto tree = GB_TRY(open_tree(source));
  entries_[path] = {.kind = Entry::Kind::kTree, .tree = std::move(tree)};
  return {};
}

// As files, so that they come in the order of their names, and without owners and times.
Result<void> ImageLayer::add_workspace(const TemplateParts& parts,
                                       const ContentStore& store,
                                       const ContentDraft& draft) {
  const std::string path = parts.home.substr(1);
  add_parents(path);
  if (parts.files.empty()) {
    entries_[path] = {};
    return {};
  }
  const std::string archive_path = store.path_of(parts.files) + "/home.tar";
  const UniqueFd archive(::open(archive_path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  const std::string workspace = draft.path() + "/workspace";
  if (!archive || ::fstat(archive.get(), &status) != 0 || ::mkdir(workspace.c_str(), 0755) != 0) {
    return Error::from_errno("unpack the template's workspace");
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  GB_TRY(monitor_->spend(size));
  const UniqueFd directory = GB_TRY(open_tree(workspace));
  UnpackBounds bounds{.bytes = size};
  (void)GB_TRY(
      unpack_layer(archive.get(), directory.get(), bounds, [this] { return monitor_->wanted(); }));
  return add_tree(path, workspace);
}

Result<void> ImageLayer::write(const PutBytes& put) const {
  TarStream stream(put);
  for (const auto& [path, entry] : entries_) {
    switch (entry.kind) {
      case Entry::Kind::kDirectory:
        GB_TRY(stream.add_directory(path + "/", status_of(entry.mode)));
        break;
      case Entry::Kind::kLink:
        GB_TRY(stream.add_link(path, status_of(0777), entry.target));
        break;
      case Entry::Kind::kTree:
        GB_TRY(pack_tree(entry.tree.get(), path, put, [this] { return monitor_->wanted(); }));
        break;
    }
  }
  return stream.finish();
}

}  // namespace glovebox
