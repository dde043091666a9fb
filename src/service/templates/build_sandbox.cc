// SPDX-License-Identifier: Apache-2.0
#include "service/templates/build_sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/text.h"
#include "files/open.h"
#include "sandbox/foreign_root.h"
#include "service/templates/image_reader.h"
#include "service/templates/root_source.h"
#include "service/templates/workspace_step.h"
#include "volume/image_file.h"

namespace glovebox {
namespace {

// Every sandbox has its own, at the top of its root.
constexpr std::array<std::string_view, 8> kOwnDirectories = {"dev", "proc", "run",       "sys",
                                                             "tmp", "home", "workspace", "opt"};

// A root with its hard links as copies; the tenant's quota is usually less.
constexpr std::uint64_t kMaxArchive = 8ULL << 30;
// A smaller one holds no root.
constexpr Bytes kLeastDisk = 1_GiB;

Error canceled() { return {ErrorCode::kUnavailable, "canceled"}; }

// The whole of a file, from its beginning.
FileClient::Source from_file(int fd) {
  return [fd, at = off_t{0}](std::span<char> into) mutable -> Result<std::size_t> {
    const ssize_t got = ::pread(fd, into.data(), into.size(), at);
    if (got < 0) {
      return Error::from_errno("read a file of the build");
    }
    at += got;
    return static_cast<std::size_t>(got);
  };
}

Result<UniqueFd> make_directory(int parent, const std::string& name) {
  const bool made = ::mkdirat(parent, name.c_str(), 0755) == 0;
  UniqueFd directory(
      made ? ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1);
  return directory ? Result<UniqueFd>(std::move(directory))
                   : Error::from_errno("create a template's root");
}

Result<void> copy_top_links(const std::string& from, int to) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(from.c_str()), ::closedir);
  if (!entries) {
    return Error::from_errno("read the template's root");
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* const entry = ::readdir(entries.get())) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size =
        ::readlinkat(::dirfd(entries.get()), entry->d_name, target.data(), target.size() - 1);
    if (size > 0 && ::symlinkat(target.data(), to, entry->d_name) != 0) {
      return Error::from_errno("create a template's root");
    }
  }
  return {};
}

}  // namespace

bool is_own_directory(std::string_view name) {
  return std::ranges::find(kOwnDirectories, name) != kOwnDirectories.end();
}

std::string_view not_kept(std::string_view path, std::string_view home) {
  if (path == home || path.starts_with(std::string(home) + "/")) {
    return {};
  }
  if (path == "/") {
    return "the top of the root";
  }
  for (const std::string_view own : kOwnDirectories) {
    const std::string top = "/" + std::string(own);
    const bool inside = path == top || path.starts_with(top + "/");
    if (inside && own != "opt") {
      return "a directory that each sandbox has of its own";
    }
  }
  if (path == "/opt" || path == "/opt/glovebox" || path.starts_with("/opt/glovebox/")) {
    return "a directory that each sandbox has of its own";
  }
  return {};
}

Result<BuildSandbox> BuildSandbox::open(const TemplateParts& parts,
                                        BuildGuest guest,
                                        const BuildNetwork& network,
                                        const ContentStore& store,
                                        const std::string& scratch,
                                        BuildMonitor& monitor) {
  const Limits limits = build_limits(parts);
  SandboxSpec spec = sandbox_of(parts, store, limits);
  spec.as_root = guest != BuildGuest::kUser;
  spec.needs_users = guest == BuildGuest::kRootOnDisk;
  if (spec.as_root) {
    // Its guest is root. The template's name for another one would hide a user of the image.
    spec.user = SandboxSpec().user;
  }
  spec.mounts.push_back(GB_TRY(file_server_mount()));
  Disk disk;
  if (guest == BuildGuest::kRootOnDisk && images_usable()) {
    disk = GB_TRY(make_disk(limits, scratch, monitor));
    spec.root_disk = {.mount_fd = disk.mount.get()};
  }
  BuildEgress::prepare(spec, network);
  std::unique_ptr<Sandbox> sandbox = GB_TRY(Sandbox::create(spec, {}));
  BuildEgress egress = GB_TRY(BuildEgress::start(*sandbox, network, monitor));
  BuildSandbox opened(std::move(disk), std::move(sandbox), std::move(egress), limits, parts.home,
                      scratch, monitor);
  if (!parts.files.empty()) {
    const std::string path = store.path_of(parts.files) + "/home.tar";
    const UniqueFd archive(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!archive) {
      return Error::from_errno("open a workspace");
    }
    GB_TRY(opened.unpack(parts.home, archive.get()));
  }
  return opened;
}

// All of it counts before anything is written to it, since a guest writes it.
Result<BuildSandbox::Disk> BuildSandbox::make_disk(const Limits& limits,
                                                   const std::string& scratch,
                                                   BuildMonitor& monitor) {
  Bytes size = limits.disk;
  auto room = monitor.borrow(size.count);
  while (!room && size.count / 2 >= kLeastDisk.count) {
    size.count /= 2;
    room = monitor.borrow(size.count);
  }
  Disk disk;
  disk.room = GB_TRY(std::move(room));
  const std::string path = scratch + "/disk";
  GB_TRY(make_image(path, {.size = size, .inodes = limits.inodes}, scratch + "/stock"));
  disk.image = GB_TRY(MountedImage::open(path));
  disk.file = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!disk.file || ::unlink(path.c_str()) != 0) {
    return Error::from_errno("make a disk for a build");
  }
  disk.mount = GB_TRY(disk.image->mount(MountedImage::Access::kWriteWithSetUserId));
  return disk;
}

// Nothing writes to the disk any more, and there has to be room for what is copied from it.
void BuildSandbox::count_what_is_there() {
  struct stat status {};
  if (disk_.file && ::fstat(disk_.file.get(), &status) == 0) {
    disk_.room.shrink(static_cast<std::uint64_t>(status.st_blocks) * 512);
  }
}

Result<FileClient> BuildSandbox::files() { return FileClient(GB_TRY(open_file_server(*sandbox_))); }

Result<RunOutcome> BuildSandbox::run(const Command& command) {
  RunOptions options{.limits = limits_, .cancel_fd = monitor_->cancel_fd()};
  options.observer.out =
      options.observer.err = [this](std::string_view text) { monitor_->log(text); };
  RunOutcome outcome = GB_TRY(sandbox_->run(command, options));
  return outcome.status == Status::kCanceled ? Result<RunOutcome>(canceled()) : std::move(outcome);
}

Result<SpooledFile> BuildSandbox::begin_spool() const {
  if (!monitor_->wanted()) {
    return canceled();
  }
  SpooledFile file{.fd = UniqueFd(::open(scratch_->c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)),
                   .size = 0};
  return file.fd ? Result<SpooledFile>(std::move(file)) : Error::from_errno("copy files");
}

Result<void> BuildSandbox::write_counted(int fd, std::uint64_t& size, std::string_view bytes) {
  size += bytes.size();
  if (size > kMaxArchive) {
    return Error(ErrorCode::kInvalid, "the files are too large for a template");
  }
  GB_TRY(monitor_->spend(bytes.size()));
  return write_content(fd, bytes);
}

Result<SpooledFile> BuildSandbox::spool_directory(FileClient& client, const std::string& path) {
  SpooledFile file = GB_TRY(begin_spool());
  GB_TRY(client.pack(path, FileClient::ArchiveFormat::kTar, [&](std::string_view bytes) {
    return write_counted(file.fd.get(), file.size, bytes);
  }));
  return file;
}

Result<SpooledFile> BuildSandbox::spool_file(FileClient& client, const std::string& path) {
  SpooledFile file = GB_TRY(begin_spool());
  const FileClient::OpenFile source = GB_TRY(client.open(path));
  (void)GB_TRY(client.read(source, 0, source.entry.size, [&](std::string_view bytes) {
    return write_counted(file.fd.get(), file.size, bytes);
  }));
  return file;
}

Result<void> BuildSandbox::unpack(const std::string& path, int archive) {
  FileClient client = GB_TRY(files());
  return client.unpack(path, from_file(archive));
}

Result<void> BuildSandbox::write(const std::string& path, std::uint32_t mode, int content) {
  FileClient client = GB_TRY(files());
  (void)GB_TRY(client.write(path, {.mode = mode}, from_file(content)));
  return {};
}

Result<void> BuildSandbox::save_directory(FileClient& client,
                                          const std::string& name,
                                          int root,
                                          UnpackBounds& left) {
  const UniqueFd directory = GB_TRY(make_directory(root, name));
  return save_into(client, "/" + name, directory.get(), left);
}

Result<void> BuildSandbox::save_into(FileClient& client,
                                     const std::string& path,
                                     int directory,
                                     UnpackBounds& left) {
  const SpooledFile packed = GB_TRY(spool_directory(client, path));
  if (::lseek(packed.fd.get(), 0, SEEK_SET) != 0) {
    return Error::from_errno("create a template's root");
  }
  // What comes out of a tar without holes is not larger than the tar; holes are bounded.
  GB_TRY(monitor_->spend(packed.size));
  (void)GB_TRY(
      unpack_layer(packed.fd.get(), directory, left, [this] { return monitor_->wanted(); }));
  return {};
}

Result<void> BuildSandbox::save_root_in(const std::string& path, const std::string& root) {
  count_what_is_there();
  const UniqueFd top = GB_TRY(make_directory(AT_FDCWD, root));
  UnpackBounds left;
  FileClient client = GB_TRY(files());
  GB_TRY(save_into(client, path, top.get(), left));
  GB_TRY(check_root_top(root));
  return prepare_foreign_root(top.get());
}

Result<void> BuildSandbox::save_root(const std::string& base, const std::string& root) {
  count_what_is_there();
  const UniqueFd top = GB_TRY(make_directory(AT_FDCWD, root));
  GB_TRY(copy_top_links(base, top.get()));
  UnpackBounds left;
  FileClient client = GB_TRY(files());
  const auto save_below = [&](const std::string& prefix) -> Result<void> {
    for (const FileEntry& entry : GB_TRY(client.list("/" + prefix, 1))) {
      const std::string name = entry.path.substr(entry.path.rfind('/') + 1);
      const bool own = prefix.empty() ? is_own_directory(name) : name == "glovebox";
      if (entry.type == FileEntry::Type::kDirectory && !own && name != "lost+found") {
        GB_TRY(save_directory(client, prefix + name, top.get(), left));
      }
    }
    return {};
  };
  GB_TRY(save_below(""));
  if (::mkdirat(top.get(), "opt", 0755) != 0) {
    return Error::from_errno("create a template's root");
  }
  GB_TRY(save_below("opt/"));
  GB_TRY(check_root_top(root));
  return prepare_foreign_root(top.get());
}

Result<void> BuildSandbox::save_workspace(const std::string& archive) {
  // For the daemon, if that is another user: the store lets in nobody else.
  const UniqueFd file(
      ::open(archive.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::fchmod(file.get(), 0644) != 0) {
    return Error::from_errno("create an archive");
  }
  FileClient client = GB_TRY(files());
  std::uint64_t size = 0;
  return client.pack(home_, FileClient::ArchiveFormat::kTar, [&](std::string_view bytes) {
    return write_counted(file.get(), size, bytes);
  });
}

}  // namespace glovebox
