// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/root.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "sandbox/child/crossing.h"
#include "sandbox/child/pins.h"

namespace glovebox::child {
namespace {

using sys::raw;

constexpr std::uint64_t kReadOnly = abi::kMountRdonly | abi::kMountNosuid | abi::kMountNodev;

long write_text(const TextFile& file, int flags) noexcept {
  const long fd = raw(SYS_open, file.path, O_WRONLY | O_CLOEXEC | flags, file.mode);
  if (fd < 0) {
    return fd;
  }
  const std::string_view text = file.content;
  const long written = text.empty() ? 0 : raw(SYS_write, fd, text.data(), text.size());
  (void)raw(SYS_close, fd);
  return written < 0 ? written : 0;
}

// The older calls throughout: one of them does what open_tree, mount_setattr and move_mount do
// together, for less, and there is nobody yet who could race with us.
long mount(const char* source,
           const char* target,
           const char* type,
           unsigned long flags,
           const char* options) noexcept {
  return raw(SYS_mount, source, target, type, flags, options);
}

long bind(const Bind& bind) noexcept {
  const long result = mount(bind.source, bind.target, nullptr, MS_BIND | MS_REC, nullptr);
  if (result < 0 || bind.attributes == 0) {
    return result;
  }
  const abi::MountAttr attributes{.attr_set = bind.attributes};
  return raw(SYS_mount_setattr, AT_FDCWD, bind.target, abi::kAtRecursive, &attributes,
             sizeof attributes);
}

long attach(int mount_fd, const char* target) noexcept {
  return raw(SYS_move_mount, mount_fd, "", AT_FDCWD, target, abi::kMoveMountFromEmptyPath);
}

long lay_over(const Overlay& overlay) noexcept {
  for (const Lower& lower : overlay.lowers) {
    const long r = lower.place == nullptr ? 0
                   : lower.fd >= 0        ? attach(lower.fd, lower.place)
                                          : bind({lower.source, lower.place, kReadOnly, false});
    if (r < 0) {
      return r;
    }
  }
  return mount("overlay", overlay.target, "overlay", MS_NODEV, overlay.options);
}

}  // namespace

long Root::make() noexcept {
  // Otherwise a mount that the host adds below /usr later would show up inside, and writable.
  if (const long r = mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr); r < 0) {
    return r;
  }
  // Over the one directory that exists everywhere and that no source of a mount is in.
  constexpr const char* kPlace = "/proc";
  const unsigned long flags = plan_.is_root() ? MS_NODEV : MS_NOSUID | MS_NODEV;
  if (const long r = mount("glovebox", kPlace, "tmpfs", flags, plan_.root_options); r < 0) {
    return r;
  }
  // All paths of targets below are relative to this.
  if (const long r = raw(SYS_chdir, kPlace); r < 0) {
    return r;
  }
  if (plan_.disk_fd >= 0) {
    if (const long r = attach_disk(); r < 0) {
      return r;
    }
  }
  return make_directories(plan_.directories);
}

// What a disk already holds stays as it is.
bool Root::may_be_there(long result) const noexcept {
  return result == -EEXIST && plan_.disk_fd >= 0;
}

long Root::make_directories(std::span<const Directory> directories) noexcept {
  for (const Directory& directory : directories) {
    long result = raw(SYS_mkdir, directory.path, directory.mode);
    if (result == 0 && (directory.mode & 01022) != 0) {
      result = raw(SYS_chmod, directory.path, directory.mode);
    }
    if (result < 0 && !may_be_there(result)) {
      return result;
    }
    ++detail_;
  }
  return 0;
}

long Root::attach_disk() noexcept {
  if (const long r = make_directories(plan_.disk_targets); r < 0) {
    return r;
  }
  if (const long r = attach(plan_.disk_fd, plan_.disk_place); r < 0) {
    return r;
  }
  if (const long r = make_directories(plan_.disk_directories); r < 0) {
    return r;
  }
  return bind_all(plan_.disk_binds);
}

long Root::bind_all(std::span<const Bind> binds) noexcept {
  for (const Bind& each : binds) {
    const long result = bind(each);
    if (result < 0 && !(each.optional && (result == -ENOENT || result == -ENOTDIR))) {
      return result;
    }
    ++detail_;
  }
  return 0;
}

long Root::bind_mounts() noexcept {
  if (plan_.other_root_fd >= 0) {
    if (const long r = attach(plan_.other_root_fd, plan_.other_root_place); r < 0) {
      return r;
    }
  }
  for (const Overlay& overlay : plan_.overlays) {
    if (const long r = lay_over(overlay); r < 0) {
      return r;
    }
    ++detail_;
  }
  if (const long r = bind_all(plan_.binds); r < 0) {
    return r;
  }
  for (const Graft& graft : plan_.grafts) {
    if (const long r = attach(graft.mount_fd, graft.target); r < 0) {
      return r;
    }
    ++detail_;
  }
  if (const long r = pin_places(plan_, inner_workspace_, detail_); r < 0) {
    return r;
  }
  if (plan_.terminals_place != nullptr) {
    // Each mount of it is an instance of its own: nothing of the host's terminals, or of another
    // sandbox's, has a name here.
    if (const long r = mount("devpts", plan_.terminals_place, "devpts", MS_NOSUID | MS_NOEXEC,
                             plan_.terminals_options);
        r < 0) {
      return r;
    }
  }
  // What a guest may see of it is bound; the rest stays unseen.
  return plan_.other_root_place == nullptr
             ? 0
             : raw(SYS_umount2, plan_.other_root_place, MNT_DETACH | UMOUNT_NOFOLLOW);
}

long Root::mount_proc() noexcept {
  // Other users' processes are invisible; the warden is one, because it is not dumpable. Root
  // without CAP_SYS_PTRACE would not see its own services that way, so the warden is covered.
  const char* const options = plan_.first_process_mask == nullptr ? "hidepid=2" : nullptr;
  const long result = mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
  if (result < 0) {
    return result;
  }
  if (plan_.whole_proc_place != nullptr) {
    if (const long r = mount("proc", plan_.whole_proc_place, "proc",
                             MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
        r < 0) {
      return r;
    }
  }
  if (plan_.warden_files_place != nullptr) {
    if (const long r = open_warden_files(); r < 0) {
      return r;
    }
  }
  // Before they are covered.
  const long layers =
      plan_.layers_place == nullptr
          ? 0
          : raw(SYS_open, plan_.layers_place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (layers < 0) {
    return layers;
  }
  if (const long r = bind_all(plan_.masks); r < 0 || plan_.first_process_mask == nullptr) {
    return r;
  }
  const long first = raw(SYS_open, "proc/1", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (first < 0) {
    return first;
  }
  warden_files_[warden_file_count_++] = first;
  if (plan_.layers_place != nullptr) {
    warden_files_[warden_file_count_++] = layers;
  }
  return bind({plan_.first_process_mask, "proc/1", 0, false});
}

// A mount that has files open for writing cannot become read-only: they are opened in a mount of
// their own, which a read-only one then covers. Nobody inside can take that away.
long Root::open_warden_files() noexcept {
  const char* const place = plan_.warden_files_place;
  if (const long r = bind({place, place, 0, false}); r < 0) {
    return r;
  }
  for (const char* const file : plan_.warden_files) {
    const long fd = raw(SYS_open, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0);
    if (fd < 0) {
      return fd;
    }
    warden_files_[warden_file_count_++] = fd;
  }
  return 0;
}

long Root::write_files() noexcept {
  for (const TextFile& file : plan_.files) {
    const long result = write_text(file, O_CREAT | O_EXCL | O_NOFOLLOW);
    if (result < 0 && !may_be_there(result)) {
      return result;
    }
    ++detail_;
  }
  if (plan_.no_terminal_place != nullptr) {
    const long r = raw(SYS_mknod, plan_.no_terminal_place, S_IFSOCK | 0666, 0);
    if (r < 0) {
      return r;
    }
  }
  for (const Symlink& link : plan_.links) {
    const long result = raw(SYS_symlink, link.target, link.path);
    if (result < 0 && !may_be_there(result)) {
      return result;
    }
    ++detail_;
  }
  return 0;
}

long Root::lock_user_namespaces() noexcept {
  // What is used here also counts for the maker of the namespace, who has other sandboxes and
  // programs (namespaces(7), kernel/ucount.c).
  constexpr std::array<TextFile, 2> kMost = {{{"proc/sys/user/max_inotify_instances", "32"},
                                              {"proc/sys/user/max_inotify_watches", "8192"}}};
  constexpr std::array<TextFile, 1> kNoNamespaces = {{{"proc/sys/user/max_user_namespaces", "0"}}};
  const bool nested = !plan_.namespaces.empty();
  for (const std::span<const TextFile> limits :
       {std::span<const TextFile>(kMost),
        nested ? plan_.namespaces : std::span<const TextFile>(kNoNamespaces)}) {
    for (const TextFile& most : limits) {
      if (const long r = write_text(most, O_NOFOLLOW); r < 0) {
        return r;
      }
      ++detail_;
    }
  }
  if (nested) {
    return 0;
  }
  if (plan_.is_root()) {
    // Root could set the limits of its System V IPC and message queues there.
    if (const long r = bind({"proc/sys", "proc/sys", abi::kMountRdonly, false}); r < 0) {
      return r;
    }
  }
  // A wall that was not tried is a hope.
  return raw(SYS_unshare, CLONE_NEWUSER) == -ENOSPC ? 0 : -EPERM;
}

long Root::enter() noexcept {
  if (plan_.hostname != nullptr) {
    long length = 0;
    while (plan_.hostname[length] != '\0') {
      ++length;
    }
    if (const long r = raw(SYS_sethostname, plan_.hostname, length); r < 0) {
      return r;
    }
    (void)raw(SYS_setdomainname, "", 0);
  }
  if (const long r = change_root(); r < 0) {
    return r;
  }
  if (!plan_.is_root()) {
    const abi::MountAttr read_only{.attr_set = abi::kMountRdonly};
    if (const long r = raw(SYS_mount_setattr, AT_FDCWD, "/", 0, &read_only, sizeof read_only);
        r < 0) {
      return r;
    }
  }
  return inner_workspace_ >= 0 ? raw(SYS_fchdir, inner_workspace_)
                               : raw(SYS_chdir, plan_.workspace);
}

}  // namespace glovebox::child
