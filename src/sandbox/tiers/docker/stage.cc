// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/stage.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/sys/tree.h"
#include "sandbox/launch.h"
#include "sandbox/launcher/protocol.h"
#include "sandbox/machine.h"
#include "sandbox/system_view.h"

namespace glovebox::docker {
namespace {

// Files of the host that others may not read are of no use to a guest, and our own are made for it,
// whatever our umask is.
constexpr mode_t kFileMode = 0644;
constexpr mode_t kDirectoryMode = 0755;

Result<void> make_directory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0 || ::chmod(path.c_str(), mode) != 0) {
    return Error::from_errno("create " + path);
  }
  return {};
}

// In place if it is there already: a container sees this very file.
Result<void> write_file(const std::string& path, std::string_view text) {
  const UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file || ::fchmod(file.get(), kFileMode) != 0 ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Error::from_errno("write " + path);
  }
  return {};
}

// Where an open file is, by its name outside.
Result<std::string> path_of(int fd) {
  std::array<char, 4096> text{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size() - 1);
  if (size <= 0) {
    return Error::from_errno("read " + link);
  }
  return std::string(text.data(), static_cast<std::size_t>(size));
}

}  // namespace

Result<Stage> Stage::create(
    std::string path, const SandboxSpec& spec, uid_t uid, gid_t gid, bool own_system) {
  Stage stage(std::move(path));
  // Closed to everybody: an engine reaches it as root, a guest sees single files of it.
  GB_TRY(make_directory(stage.path_, 0711));
  GB_TRY(stage.add_programs());
  if (!own_system) {
    stage.add_system();
  }
  GB_TRY(stage.add_names(spec, uid, gid));
  GB_TRY(stage.add_machine(spec.limits));
  for (const Mount& mount : spec.mounts) {
    GB_TRY(stage.add_mount(mount));
  }
  for (const SandboxSpec::OwnFile& file : spec.own_files) {
    const std::string name = "own-" + file.name;
    GB_TRY(
        stage.add_file(name, file.content, std::string(SandboxSpec::kOwnFiles) + "/" + file.name));
    // In one of the host's directories, in which nothing can be made.
    if (!file.shown_at.empty() && ::access(file.shown_at.c_str(), F_OK) == 0) {
      stage.mounts_.push_back({.source = stage.path_ + "/" + name, .target = file.shown_at});
    }
  }
  GB_TRY(stage.listen());
  return stage;
}

Result<void> Stage::add_file(const std::string& name, std::string_view text, std::string target) {
  GB_TRY(write_file(path_ + "/" + name, text));
  mounts_.push_back({.source = path_ + "/" + name, .target = std::move(target)});
  return {};
}

// Links into /usr are the image's (image.cc); where they are directories, they are shown as well.
void Stage::add_system() {
  mounts_.push_back({.source = "/usr", .target = "/usr"});
  for (const char* const name : kUsrLinks) {
    const std::string path = std::string("/") + name;
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
      mounts_.push_back({.source = path, .target = path});
    }
  }
  for (const char* const path : kCommonEtc) {
    if (::access(path, F_OK) == 0) {
      mounts_.push_back({.source = path, .target = path});
    }
  }
}

Result<void> Stage::add_names(const SandboxSpec& spec, uid_t uid, gid_t gid) {
  for (const auto& [name, text] : etc_of_guest(spec, uid, gid)) {
    GB_TRY(add_file(name, text, "/etc/" + name));
  }
  // An engine would show the host's name servers.
  return spec.egress_port != 0 ? Result<void>()
                               : add_file(kResolvConf, "", std::string("/etc/") + kResolvConf);
}

Result<void> Stage::add_machine(const Limits& limits) {
  // In place of the host's /sys: the processors, and an empty place for the engine's cgroups, which
  // `unseen` covers.
  for (const char* const name : {"unseen", "sys", "sys/fs", "sys/fs/cgroup", "sys/devices",
                                 "sys/devices/system", "sys/devices/system/cpu"}) {
    GB_TRY(make_directory(path_ + "/" + name, kDirectoryMode));
  }
  for (const char* const name : {"possible", "present"}) {
    const std::string link = path_ + "/sys/devices/system/cpu/" + name;
    if (::symlink("online", link.c_str()) != 0) {
      return Error::from_errno("create " + link);
    }
  }
  GB_TRY(describe_machine(limits));
  mounts_.push_back({.source = path_ + "/sys", .target = "/sys"});
  mounts_.push_back({.source = path_ + "/unseen", .target = "/sys/fs/cgroup"});
  for (const MachineFile& file : kMachineFiles) {
    if (std::string_view(file.shown_as).starts_with("proc/")) {
      mounts_.push_back(
          {.source = path_ + "/" + file.name, .target = "/" + std::string(file.shown_as)});
    }
  }
  return {};
}

Result<void> Stage::describe_machine(const Limits& limits) const {
  const auto texts = machine_texts(limits);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string_view shown = kMachineFiles[i].shown_as;
    const std::string name(shown.starts_with("sys/") ? shown : kMachineFiles[i].name);
    GB_TRY(write_file(path_ + "/" + name, texts[i]));
  }
  return {};
}

Result<void> Stage::add_programs() {
  const InnerPrograms programs = GB_TRY(inner_programs());
  const std::string warden = GB_TRY(path_of(programs.warden));
  const std::string launcher =
      warden.substr(0, warden.rfind('/')) + "/" + std::string(launcher::kProgram);
  if (::access(launcher.c_str(), X_OK) != 0) {
    return Error(ErrorCode::kUnsupported, launcher + " is not installed",
                 "install it next to glovebox-warden");
  }
  const std::string inner(launcher::kPrograms);
  mounts_.push_back({.source = launcher, .target = inner + "/launcher"});
  mounts_.push_back({.source = warden, .target = inner + "/warden"});
  mounts_.push_back({.source = GB_TRY(path_of(programs.archiver)), .target = inner + "/archiver"});
  return {};
}

Result<void> Stage::add_mount(const Mount& mount) {
  if (!GB_TRY(type_of(mount))) {
    return {};
  }
  // The engine takes each target once; the first one is the system's, or ours.
  if (std::ranges::find(mounts_, mount.target, &Mount::target) == mounts_.end()) {
    mounts_.push_back(mount);
  }
  return {};
}

Result<void> Stage::listen() {
  const std::string directory = path_ + "/control";
  GB_TRY(make_directory(directory, 0711));
  listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const UniqueFd place(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!listener_ || !place) {
    return Error::from_errno("open " + directory);
  }
  // By descriptor: the path of a runtime directory may be longer than an address.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path =
      "/proc/self/fd/" + std::to_string(place.get()) + "/" + std::string(launcher::kSocketName);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0666) != 0 || ::listen(listener_.get(), 1) != 0) {
    return Error::from_errno("listen in " + directory);
  }
  mounts_.push_back({.source = directory, .target = std::string(launcher::kControl)});
  return {};
}

Result<UniqueFd> Stage::accept(int patience_ms) {
  pollfd polled{listener_.get(), POLLIN, 0};
  int ready = -1;
  do {
    ready = ::poll(&polled, 1, patience_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) {
    return Error(ErrorCode::kUnavailable, "the container's first process does not connect");
  }
  UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) {
    return Error::from_errno("accept the launcher");
  }
  listener_.reset();
  const std::string socket = path_ + "/control/" + std::string(launcher::kSocketName);
  (void)::unlink(socket.c_str());
  return connection;
}

Result<void> Stage::remove() const { return sys::remove_tree(path_); }

}  // namespace glovebox::docker
