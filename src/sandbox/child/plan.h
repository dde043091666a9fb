// SPDX-License-Identifier: Apache-2.0
// The plan of a sandbox's set-up: everything that the code between clone and exec needs to know,
// prepared before the clone, because that code may only make system calls.
//
// The child shares the parent's memory until its exec: all pointers point into memory that the
// parent leaves as it is until then. Paths of targets are relative to the new root; paths of
// sources are absolute outside.
#pragma once

#include <linux/filter.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sandbox/child/confine.h"

namespace glovebox::child {

// In the order in which they happen. Names are in setup_step_name().
enum class SetupStep : std::uint32_t {
  kNone,
  kBorn,
  kIdentity,
  kRoot,
  kFiles,
  kMounts,
  kProc,
  kLockUserNamespaces,
  kEnterRoot,
  kNetwork,
  kCgroup,
  kPrivileges,
  kLandlock,
  kSeccomp,
  kExec,
};
inline constexpr std::size_t kSetupSteps = static_cast<std::size_t>(SetupStep::kExec) + 1;

// What a person is told: "mounts", "seccomp", …
std::string_view setup_step_name(SetupStep step);

struct Directory {
  const char* path;
  std::uint32_t mode;
};

struct TextFile {
  const char* path;
  std::string_view content;
  std::uint32_t mode = 0644;
};

struct Symlink {
  const char* path;
  const char* target;
};

// A piece of the host (absolute `source`) or of the new root itself (relative), mounted at
// `target`, which must exist.
struct Bind {
  const char* source;
  const char* target;
  std::uint64_t attributes;  // kMount… of kernel_abi.h, added recursively.
  bool optional;             // Left out when the source or the target does not exist.
};

// A directory or file of the workspace that becomes a mount of its own, and so can be neither moved
// nor removed nor replaced; made if it is missing. No link is followed to it.
struct Pin {
  const char* path;  // Relative to the workspace. Pins above it come before it in the plan.
  bool directory;
  bool closed;  // And nothing can be written there.
  bool hidden;  // And something unreadable is there in its place. No pin is below it.
};

// A detached mount of the parent's, to be attached at `target`, which must exist.
struct Graft {
  int mount_fd;
  const char* target;
};

// What is below the changes of an overlay. It is mounted at `place` for that, and stays there: each
// unmounting would wait for an RCU grace period.
struct Lower {
  int fd = -1;                   // A detached mount of the parent's, or -1 for
  const char* source = nullptr;  // an absolute path outside.
  const char* place = nullptr;   // Out of the guest's sight. Null: there is none.
};

// A directory with changes: what is written later, on top of what is below.
struct Overlay {
  std::array<Lower, 2> lowers;
  const char* target;
  const char* options;  // Documentation/filesystems/overlayfs.rst of Linux.
};

// The walls, part by part: a step whose part is absent here is skipped, which is how the tiers
// differ.
struct Plan {
  // Becomes descriptor 3 of the warden. Also carries the report of this set-up.
  int control_fd = -1;
  int warden_fd = -1;
  int archiver_fd = -1;  // Becomes descriptor 4 of the warden.
  int maker_fd = -1;     // A pidfd of the parent, to notice its death.

  // The clone could not clear the parent's signal handlers.
  bool clear_handlers = false;

  // When the parent called clone, in nanoseconds of the monotonic clock.
  std::uint64_t cloned_at_ns = 0;

  // The guest's ids inside if `user_namespace` is true; otherwise the ids that it takes outside,
  // zero meaning that it keeps ours.
  bool user_namespace = false;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  // The ids of the user namespace are mapped after the birth; the parent then sends one byte. It
  // also does so if they were mapped before the birth, but are several. Otherwise the namespace was
  // made before the birth, and has the guest's ids alone.
  bool awaits_maps = false;

  // We are root, and outside of a user namespace of the guest's: capabilities that it gives up are
  // locked away while it still may do so. A guest that stays root without CAP_SETPCAP cannot lock
  // them, and then only no_new_privs keeps them away.
  bool locks_privileges = false;

  // Capabilities that guests keep, a bit for each: then the guest is root in its user namespace,
  // set-user-id programs work, and its root file system stays writable.
  std::uint64_t kept_capabilities = 0;
  [[nodiscard]] bool is_root() const noexcept { return kept_capabilities != 0; }

  // A realm, in which sandboxes are made: more user namespaces may be made.
  bool realm = false;

  // How many namespaces of each kind the guest and all that it starts may have at a time, the ones
  // of this set-up among them: files below /proc/sys/user. Empty: it can make no user namespace,
  // and so no other.
  std::span<const TextFile> namespaces;

  // Make and join a network namespace of its own, with its loopback device up. That takes as long
  // as the file system, so a helper does it at the same time, on this stack.
  bool network_namespace = false;
  void* network_stack_top = nullptr;
  // The port of child/way_out.h, or 0 for a namespace without a way out; and the socket that its
  // listener and its socket for names, in this order, are sent to. Only the receiver then has them.
  std::uint16_t egress_port = 0;
  int way_out_to = -1;

  // File system view; without it the guest sees the host's files as far as Landlock lets it.
  bool own_root = false;
  const char* root_options = nullptr;  // Of its tmpfs: size, nr_inodes, mode (tmpfs(5)).
  // A file system on disk with what a root guest writes: a detached mount of the parent's, or -1.
  // It goes to `disk_place` once `disk_targets` are made, and then `disk_directories` are made in
  // it and `disk_binds` shown, all before the rest. What an earlier use made there may exist.
  int disk_fd = -1;
  const char* disk_place = nullptr;
  std::span<const Directory> disk_targets;
  std::span<const Directory> disk_directories;
  std::span<const Bind> disk_binds;
  std::span<const Directory> directories;
  // A whole other root, from which pieces are bound and which then goes out of sight: a detached
  // mount (open_tree(2)), or -1 if `binds` have it by its path; and its place.
  int other_root_fd = -1;
  const char* other_root_place = nullptr;
  std::span<const Overlay> overlays;
  std::span<const Bind> binds;
  std::span<const Graft> grafts;
  // Where the workspace is. With pins, it is mounted a second time over itself: they hold for
  // every process that gets there by a path, but not for the warden, which stays in the mount
  // below, nor for what it lets the archiver do.
  const char* pinned_place = nullptr;
  std::span<const Pin> pins;
  // What replaces hidden places.
  const char* hidden_file = nullptr;
  const char* hidden_directory = nullptr;
  // Where a devpts of the sandbox's own goes, and its options (Documentation/filesystems/devpts.rst
  // of Linux); none without a place.
  const char* terminals_place = nullptr;
  const char* terminals_options = nullptr;
  // A socket in place of a controlling terminal: opening it fails as it does without one (ENXIO).
  // Null: none.
  const char* no_terminal_place = nullptr;
  // A directory of the new root, which the first of `masks` covers with a read-only mount of
  // itself, and files in it that guests read and the warden writes. It gets them as descriptors 6
  // and above, in this order. At most kMostWardenFiles; none without a directory.
  const char* warden_files_place = nullptr;
  std::span<const char* const> warden_files;
  std::span<const Bind> masks;
  // This directory covers what /proc shows of the first process, and the warden gets the covered
  // directory, after the files above. Null: /proc hides what a guest may not trace.
  const char* first_process_mask = nullptr;
  // Where the layers of a writable root are, which one of `masks` covers: the warden gets this
  // directory after that of the first process. Null: none.
  const char* layers_place = nullptr;
  // Where another /proc goes, in which `masks` cover nothing, only its place: a process that makes
  // a pid namespace may mount that namespace's /proc only if it sees a whole one (Linux,
  // fs/namespace.c, mnt_already_visible). Null: nowhere.
  const char* whole_proc_place = nullptr;
  std::span<const TextFile> files;
  std::span<const Symlink> links;
  const char* hostname = nullptr;
  const char* workspace = nullptr;  // The warden's working directory.

  Landlock landlock;

  std::span<const sock_filter> filter;  // Empty: none in this step.
  // In place of `filter`, with a listener that goes to `listener_to`, where it is served before
  // the warden starts. The kernel may refuse us a listener: then `filter` holds, and only a byte
  // goes there. A negative descriptor: nobody watches.
  std::span<const sock_filter> watched_filter;
  int listener_to = -1;
  std::span<const sock_filter> more_filter;  // On top of `filter`; or empty.

  // On top of these, `spacers` times; see policy::spacer_filter().
  std::span<const sock_filter> spacer;
  int spacers = 0;

  const char* const* warden_argv = nullptr;
};

// How many cgroups a sandbox can be a member of: memory, pids, cpu, cpuacct, blkio.
inline constexpr std::size_t kMaxTaskFiles = 8;
inline constexpr std::size_t kMostWardenFiles = 4;

// Runs the plan (a `const Plan*`) in a freshly cloned process and becomes the warden. Never
// returns: on failure it reports the step and its errno on the control socket and exits. Requires:
// every signal handler at its default.
[[noreturn]] void enter(void* plan) noexcept;

}  // namespace glovebox::child
