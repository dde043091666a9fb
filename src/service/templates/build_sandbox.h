// SPDX-License-Identifier: Apache-2.0
// BuildSandbox: a sandbox of a template as far as it is made. A step of a Dockerfile runs in it, or
// files are copied from it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "archiver/layer_unpack.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "files/file_client.h"
#include "sandbox/sandbox.h"
#include "service/templates/build.h"
#include "service/templates/build_network.h"
#include "volume/mounted_image.h"

namespace glovebox {

// Who the commands of a build run as.
enum class BuildGuest {
  kUser,
  kRoot,  // A root of the template's own can be written to, in memory.
  // Likewise, with a range of users and, if this machine can make one, a disk of its own. There has
  // to be room for all of the disk; it is smaller than the limit if there is less.
  kRootOnDisk,
};

// Bytes that came out of a sandbox: a file without a name, counted as part of the build.
struct SpooledFile {
  UniqueFd fd;
  std::uint64_t size = 0;
};

// One thread at a time.
class BuildSandbox {
 public:
  // With the workspace of `parts`. `network` is what its commands reach. `scratch` is a directory
  // for spooled files and its disk. All must outlive it.
  static Result<BuildSandbox> open(const TemplateParts& parts,
                                   BuildGuest guest,
                                   const BuildNetwork& network,
                                   const ContentStore& store,
                                   const std::string& scratch,
                                   BuildMonitor& monitor);

  // For one task: it ends with the next command.
  Result<FileClient> files();

  // An outcome that is not kOk is not an error here, unless the build was canceled.
  Result<RunOutcome> run(const Command& command);

  // As BuildEgress::end().
  std::string end_network() { return egress_.end(); }

  // A directory as a tar archive, or the content of a file.
  Result<SpooledFile> spool_directory(FileClient& client, const std::string& path);
  Result<SpooledFile> spool_file(FileClient& client, const std::string& path);

  // Unpacks an archive into a directory, which is made; or writes a file.
  Result<void> unpack(const std::string& path, int archive);
  Result<void> write(const std::string& path, std::uint32_t mode, int content);

  // What later sandboxes begin with: the root as it is now into the directory `root`, with the
  // links at its top that `base`, the root it began with, has; and the workspace into a file.
  // Requires: nothing runs in it.
  Result<void> save_root(const std::string& base, const std::string& root);
  // Likewise a root that commands have made in a directory of the sandbox.
  Result<void> save_root_in(const std::string& path, const std::string& root);
  Result<void> save_workspace(const std::string& archive);

 private:
  // No name leads to the disk, so nothing of it is left behind.
  struct Disk {
    BorrowedRoom room;
    UniqueFd file;
    std::shared_ptr<MountedImage> image;
    UniqueFd mount;
  };
  static Result<Disk> make_disk(const Limits& limits,
                                const std::string& scratch,
                                BuildMonitor& monitor);

  BuildSandbox(Disk disk,
               std::unique_ptr<Sandbox> sandbox,
               BuildEgress egress,
               Limits limits,
               std::string home,
               const std::string& scratch,
               BuildMonitor& monitor)
      : disk_(std::move(disk)),
        sandbox_(std::move(sandbox)),
        egress_(std::move(egress)),
        limits_(limits),
        home_(std::move(home)),
        scratch_(&scratch),
        monitor_(&monitor) {}

  void count_what_is_there();
  Result<SpooledFile> begin_spool() const;
  Result<void> write_counted(int fd, std::uint64_t& size, std::string_view bytes);
  Result<void> save_directory(FileClient& client,
                              const std::string& name,
                              int root,
                              UnpackBounds& left);
  Result<void> save_into(FileClient& client,
                         const std::string& path,
                         int directory,
                         UnpackBounds& left);

  Disk disk_;
  std::unique_ptr<Sandbox> sandbox_;
  BuildEgress egress_;
  Limits limits_;
  std::string home_;
  const std::string* scratch_;
  BuildMonitor* monitor_;
};

// Whether every sandbox has its own directory of this name at its top, and shows no template's.
bool is_own_directory(std::string_view name);

// Why a template cannot have anything at `path`: a sandbox keeps it for itself. Empty if it does
// not. `path` is absolute and plain.
std::string_view not_kept(std::string_view path, std::string_view home);

}  // namespace glovebox
