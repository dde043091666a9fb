// SPDX-License-Identifier: Apache-2.0
// From clone to exec, as one straight line. The order is what makes it safe:
//   - the file system while we still hold the capabilities of our user namespace; beside it, on
//     other processors, a helper makes the network namespace and the parent the cgroup;
//   - the limits before anything of the guest's;
//   - then the capabilities go, for good, or all but root's;
//   - Landlock and seccomp last, so that they need not allow any step above.
// Nothing here may allocate, lock, or use thread-local storage (see plan.h).
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <array>
#include <cerrno>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/sys/spawn.h"
#include "sandbox/child/confine.h"
#include "sandbox/child/pins.h"
#include "sandbox/child/plan.h"
#include "sandbox/child/report.h"
#include "sandbox/child/way_out.h"

namespace glovebox::child {
namespace {

using sys::raw;

constexpr std::uint64_t kReadOnly = abi::kMountRdonly | abi::kMountNosuid | abi::kMountNodev;

// More than a maker on a starved machine takes to map ids.
constexpr timespec kMakersPatience{.tv_sec = 20, .tv_nsec = 0};

constexpr int kControl = 3;  // The warden's end of the control socket, by agreement.
constexpr int kArchiver = 4;
constexpr int kWarden = 5;       // Its program, until the exec.
constexpr int kWardenFiles = 6;  // The first of them.

class Entrance {
 public:
  explicit Entrance(const Plan& plan) noexcept
      : plan_(plan), report_(plan.control_fd, plan.cloned_at_ns) {}

  [[noreturn]] void run() noexcept {
    if (plan_.clear_handlers) {
      clear_handlers();
    }
    (void)raw(SYS_close, plan_.parent_fd);
    step(SetupStep::kIdentity, &Entrance::become_guest);
    if (plan_.network_namespace) {
      start_network();
    }
    if (plan_.own_root) {
      step(SetupStep::kRoot, &Entrance::make_root);
      step(SetupStep::kFiles, &Entrance::write_files);
      step(SetupStep::kMounts, &Entrance::bind_mounts);
      step(SetupStep::kProc, &Entrance::mount_proc);
      if (!plan_.realm) {
        step(SetupStep::kLockUserNamespaces, &Entrance::lock_user_namespaces);
      }
      step(SetupStep::kEnterRoot, &Entrance::enter_root);
    }
    if (plan_.network_namespace) {
      step(SetupStep::kNetwork, &Entrance::join_network);
    }
    step(SetupStep::kCgroup, &Entrance::join_cgroups);
    step(SetupStep::kPrivileges, &Entrance::drop_privileges);
    if (plan_.landlock.abi > 0) {
      step(SetupStep::kLandlock, &Entrance::restrict_to_rules);
    }
    if (!plan_.filter.empty()) {
      step(SetupStep::kSeccomp, &Entrance::filter_calls);
    }
    report_.send(SetupStep::kNone, 0, 0);
    constexpr std::array<const char*, 1> kNoEnvironment = {nullptr};
    fail(SetupStep::kExec,
         raw(SYS_execveat, kWarden, "", plan_.warden_argv, kNoEnvironment.data(), AT_EMPTY_PATH));
  }

 private:
  // An exec would clear handlers, but leave ignored what is ignored.
  static void clear_handlers() noexcept {
    struct {
      void (*handler)(int);
      unsigned long flags;
      void (*restorer)();
      std::uint64_t mask;
    } const by_default = {SIG_DFL, 0, nullptr, 0};
    constexpr int kSignals = 64;
    for (int number = 1; number <= kSignals; ++number) {
      (void)raw(SYS_rt_sigaction, number, &by_default, nullptr, kSignals / 8);
    }
  }

  // A step answers zero or a negative errno; `detail_` then says which of several parts it was.
  using Part = long (Entrance::*)() noexcept;

  void step(SetupStep which, Part part) noexcept {
    detail_ = 0;
    const long result = (this->*part)();
    if (result < 0) {
      fail(which, result);
    }
    report_.done(which);
  }

  [[noreturn]] void fail(SetupStep which, long result) noexcept {
    report_.send(which, static_cast<int>(-result), detail_);
    for (;;) {
      (void)raw(SYS_exit_group, 127);
    }
  }

  [[nodiscard]] bool is_root() const noexcept { return plan_.kept_capabilities != 0; }

  // ---- network ------------------------------------------------------------------------------

  void start_network() noexcept {
    network_.egress_port = plan_.egress_port;
    network_.pid = sys::clone_on_stack(CLONE_VM | CLONE_FILES | SIGCHLD, plan_.network_stack_top,
                                       &Entrance::make_network, &network_);
  }

  // In a process of its own, with our descriptors and our power over the user namespace.
  [[noreturn]] static void make_network(void* argument) noexcept {
    auto& network = *static_cast<Network*>(argument);
    network.descriptor = network_descriptor();
    if (network.descriptor >= 0 && network.egress_port != 0) {
      network.way_out = make_way_out(network.egress_port);
    }
    for (;;) {
      (void)raw(SYS_exit, 0);
    }
  }

  // A descriptor of the new namespace, or a negative errno.
  static long network_descriptor() noexcept {
    if (const long r = raw(SYS_unshare, CLONE_NEWNET); r < 0) {
      return r;
    }
    const long socket = raw(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
      return socket;
    }
    ifreq request{};
    request.ifr_name[0] = 'l';
    request.ifr_name[1] = 'o';
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    long result = raw(SYS_ioctl, socket, SIOCSIFFLAGS, &request);
    if (result >= 0) {
      result = raw(SYS_ioctl, socket, SIOCGSKNS, 0);
    }
    (void)raw(SYS_close, socket);
    return result;
  }

  // They stay in the namespace that they were made in, whoever has them (network_namespaces(7)).
  long send_way_out() noexcept {
    const WayOut& out = network_.way_out;
    if (out.listener < 0 || out.names < 0) {
      return out.listener < 0 ? out.listener : out.names;
    }
    const std::array<int, 2> sockets = {static_cast<int>(out.listener),
                                        static_cast<int>(out.names)};
    return hand_out(plan_.way_out_to, sockets);
  }

  // Sends descriptors, or a byte alone, and closes them and the socket.
  static long hand_out(long to, std::span<const int> descriptors) noexcept {
    char byte = 'l';
    constexpr std::size_t kMost = 2;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMost * sizeof(int))> control{};
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      __builtin_memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    }
    const long sent = raw(SYS_sendmsg, to, &message, MSG_NOSIGNAL);
    for (const int descriptor : descriptors) {
      (void)raw(SYS_close, descriptor);
    }
    (void)raw(SYS_close, to);
    return sent < 0 ? sent : 0;
  }

  long join_network() noexcept {
    if (network_.pid < 0) {
      return network_.pid;
    }
    if (const long r = raw(SYS_wait4, network_.pid, nullptr, 0, nullptr); r < 0) {
      return r;
    }
    if (network_.descriptor < 0) {
      return network_.descriptor;
    }
    const long result = raw(SYS_setns, network_.descriptor, CLONE_NEWNET);
    (void)raw(SYS_close, network_.descriptor);
    return result < 0 || plan_.egress_port == 0 ? result : send_way_out();
  }

  // ---- limits -------------------------------------------------------------------------------

  // The parent sends one byte and the `tasks` files of our cgroups (v1). Writing "0" moves the
  // writing thread alone and, unlike any other move, does not wait for an RCU grace period
  // (kernel/cgroup/cgroup.c, cgroup_procs_write_start: no lock for "0" without threadgroup).
  long join_cgroups() noexcept {
    char go = 0;
    std::array<int, kMaxTaskFiles> tasks{};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof tasks)> control{};
    iovec part{&go, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const long got = raw(SYS_recvmsg, plan_.control_fd, &message, MSG_CMSG_CLOEXEC);
    if (got != 1 || (message.msg_flags & MSG_CTRUNC) != 0) {
      return got < 0 ? got : -ECANCELED;
    }
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
      const std::size_t size = header->cmsg_len - CMSG_LEN(0);
      __builtin_memcpy(tasks.data(), CMSG_DATA(header), size);
      for (std::size_t i = 0; i < size / sizeof(int); ++i) {
        const long written = raw(SYS_write, tasks[i], "0", 1);
        if (written < 0) {
          return written;
        }
        ++detail_;
      }
    }
    // After the moves, so that the namespace's root is the sandbox's own group.
    return plan_.user_namespace ? raw(SYS_unshare, CLONE_NEWCGROUP) : 0;
  }

  // ---- identity -----------------------------------------------------------------------------

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

  // Not for ever: until our descriptors are arranged we hold copies of all that our maker had, the
  // other ends of sandboxes that are born beside this one among them, as those hold ours. When the
  // maker is killed now, nobody's control socket would ever close.
  long await_maps() noexcept {
    struct {
      int fd;
      short events;
      short revents;
    } polled = {plan_.control_fd, POLLIN, 0};
    timespec left = kMakersPatience;
    if (const long r = raw(SYS_ppoll, &polled, 1, &left, nullptr, 0); r <= 0) {
      return r < 0 ? r : -ETIMEDOUT;
    }
    char go = 0;
    const long got = raw(SYS_read, plan_.control_fd, &go, 1);
    return got == 1 ? 0 : got < 0 ? got : -ECANCELED;
  }

  long become_guest() noexcept {
    if (plan_.awaits_maps) {
      if (const long r = await_maps(); r < 0) {
        return r;
      }
    }
    if (plan_.locks_privileges) {
      const long r = lock_privileges();
      const bool stays_root = plan_.uid == 0;
      if (r < 0 && !(r == -EPERM && stays_root)) {
        return r;
      }
    }
    if (plan_.awaits_maps || (!plan_.user_namespace && plan_.uid != 0)) {
      if (const long r = raw(SYS_setgroups, 0, nullptr); r < 0) {
        return r;
      }
      if (const long r = raw(SYS_setresgid, plan_.gid, plan_.gid, plan_.gid); r < 0) {
        return r;
      }
      if (const long r = raw(SYS_setresuid, plan_.uid, plan_.uid, plan_.uid); r < 0) {
        return r;
      }
    }
    (void)raw(SYS_umask, 022);
    return plan_.own_root || plan_.workspace == nullptr ? 0 : raw(SYS_chdir, plan_.workspace);
  }

  // ---- file system --------------------------------------------------------------------------

  // The older calls throughout: one of them does what open_tree, mount_setattr and move_mount do
  // together, for less, and there is nobody yet who could race with us.
  long mount(const char* source,
             const char* target,
             const char* type,
             unsigned long flags,
             const char* options) noexcept {
    return raw(SYS_mount, source, target, type, flags, options);
  }

  long make_root() noexcept {
    // Or a mount that the host adds below /usr later would show up inside, and writable.
    if (const long r = mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr); r < 0) {
      return r;
    }
    // Over the one directory that exists everywhere and that no source of a mount lies in.
    constexpr const char* kPlace = "/proc";
    const unsigned long flags = is_root() ? MS_NODEV : MS_NOSUID | MS_NODEV;
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

  // What a disk holds from before stays as it is.
  [[nodiscard]] bool may_be_there(long result) const noexcept {
    return result == -EEXIST && plan_.disk_fd >= 0;
  }

  long make_directories(std::span<const Directory> directories) noexcept {
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

  long attach_disk() noexcept {
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

  long bind(const Bind& bind) noexcept {
    const long result = mount(bind.source, bind.target, nullptr, MS_BIND | MS_REC, nullptr);
    if (result < 0 || bind.attributes == 0) {
      return result;
    }
    const abi::MountAttr attributes{.attr_set = bind.attributes};
    return raw(SYS_mount_setattr, AT_FDCWD, bind.target, abi::kAtRecursive, &attributes,
               sizeof attributes);
  }

  long bind_all(std::span<const Bind> binds) noexcept {
    for (const Bind& each : binds) {
      const long result = bind(each);
      if (result < 0 && !(each.optional && (result == -ENOENT || result == -ENOTDIR))) {
        return result;
      }
      ++detail_;
    }
    return 0;
  }

  static long attach(int mount_fd, const char* target) noexcept {
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

  long bind_mounts() noexcept {
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
    // What a guest is to see of it is bound; the rest stays unseen.
    return plan_.other_root_place == nullptr
               ? 0
               : raw(SYS_umount2, plan_.other_root_place, MNT_DETACH | UMOUNT_NOFOLLOW);
  }

  long mount_proc() noexcept {
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
  long open_warden_files() noexcept {
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

  long write_files() noexcept {
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

  long lock_user_namespaces() noexcept {
    // What is used here counts for whoever made the namespace, too, who has other sandboxes and
    // programs (namespaces(7), kernel/ucount.c).
    constexpr std::array<TextFile, 2> kMost = {{{"proc/sys/user/max_inotify_instances", "32"},
                                                {"proc/sys/user/max_inotify_watches", "8192"}}};
    constexpr std::array<TextFile, 1> kNoNamespaces = {
        {{"proc/sys/user/max_user_namespaces", "0"}}};
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
    if (is_root()) {
      // Root could set the limits of its System V IPC and message queues there.
      if (const long r = bind({"proc/sys", "proc/sys", abi::kMountRdonly, false}); r < 0) {
        return r;
      }
    }
    // A wall that was not tried is a hope.
    return raw(SYS_unshare, CLONE_NEWUSER) == -ENOSPC ? 0 : -EPERM;
  }

  long enter_root() noexcept {
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
    // pivot_root(2): with "." twice the old root ends up on top of the new one and is detached.
    if (const long r = raw(SYS_pivot_root, ".", "."); r < 0) {
      return r;
    }
    if (const long r = raw(SYS_umount2, ".", MNT_DETACH); r < 0) {
      return r;
    }
    if (!is_root()) {
      const abi::MountAttr read_only{.attr_set = abi::kMountRdonly};
      if (const long r = raw(SYS_mount_setattr, AT_FDCWD, "/", 0, &read_only, sizeof read_only);
          r < 0) {
        return r;
      }
    }
    return inner_workspace_ >= 0 ? raw(SYS_fchdir, inner_workspace_)
                                 : raw(SYS_chdir, plan_.workspace);
  }

  // ---- privileges ---------------------------------------------------------------------------

  long drop_privileges() noexcept {
    // A controlling terminal could be typed into; keys of the caller's session could be used.
    (void)raw(SYS_setsid);
    (void)raw(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr, 0, 0, 0);
    constexpr std::array<int, 4> kNone = {RLIMIT_CORE, RLIMIT_MSGQUEUE, RLIMIT_RTPRIO, RLIMIT_NICE};
    for (const int resource : kNone) {
      const rlimit64 zero{0, 0};
      (void)raw(SYS_prlimit64, 0, resource, &zero, nullptr);
    }
    // Signals that wait and timers count for whoever made the namespace, as above.
    constexpr rlimit64 kSignals{1024, 1024};
    (void)raw(SYS_prlimit64, 0, RLIMIT_SIGPENDING, &kSignals, nullptr);
    if (const long r = arrange_descriptors(); r < 0) {
      return r;
    }
    if (is_root()) {
      return limit_privileges(plan_.kept_capabilities);
    }
    if (plan_.user_namespace) {
      if (const long r = lock_privileges(); r < 0) {
        return r;
      }
    }
    if (const long r = drop_capabilities(); r < 0) {
      return r;
    }
    return raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  }

  // Standard streams on /dev/null, control socket, warden program; nothing else survives.
  long arrange_descriptors() noexcept {
    // Out of the way first, so that no dup2 below closes what a later one needs.
    const long control = raw(SYS_fcntl, plan_.control_fd, F_DUPFD_CLOEXEC, 16);
    const long warden = raw(SYS_fcntl, plan_.warden_fd, F_DUPFD_CLOEXEC, 16);
    const long archiver = raw(SYS_fcntl, plan_.archiver_fd, F_DUPFD_CLOEXEC, 16);
    const long null = raw(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
    const bool watched = plan_.listener_to >= 0;
    const long listener_to =
        watched ? raw(SYS_fcntl, plan_.listener_to, F_DUPFD_CLOEXEC, 16) : -ENOENT;
    for (const long fd : {control, warden, archiver, null, watched ? listener_to : 0}) {
      if (fd < 0) {
        return fd;
      }
    }
    for (std::size_t i = 0; i < warden_file_count_; ++i) {
      warden_files_[i] = raw(SYS_fcntl, warden_files_[i], F_DUPFD_CLOEXEC, 16);
      if (warden_files_[i] < 0) {
        return warden_files_[i];
      }
    }
    for (int fd = 0; fd < 3; ++fd) {
      if (null != fd) {
        (void)raw(SYS_dup2, null, fd);
      }
    }
    if (const long r = raw(SYS_dup3, warden, kWarden, O_CLOEXEC); r < 0) {
      return r;
    }
    if (const long r = raw(SYS_dup2, archiver, kArchiver); r < 0) {
      return r;
    }
    if (const long r = raw(SYS_dup2, control, kControl); r < 0) {
      return r;
    }
    report_.speak_through(kControl);
    for (std::size_t i = 0; i < warden_file_count_; ++i) {
      if (const long r = raw(SYS_dup2, warden_files_[i], kWardenFiles + i); r < 0) {
        return r;
      }
    }
    std::size_t first_closed = kWardenFiles + warden_file_count_;
    if (listener_to >= 0) {
      listener_to_ = raw(SYS_dup3, listener_to, first_closed, O_CLOEXEC);
      if (listener_to_ < 0) {
        return listener_to_;
      }
      ++first_closed;
    }
    return raw(SYS_close_range, first_closed, ~0U, 0);
  }

  long restrict_to_rules() noexcept {
    // Our own programs lie outside the new root; these inodes alone may be executed there.
    constexpr std::array<int, 2> kPrograms = {kWarden, kArchiver};
    return restrict_files(plan_.landlock, kPrograms, detail_);
  }

  long filter_calls() noexcept {
    if (const long r = listener_to_ >= 0 ? filter_watched() : install_filter(plan_.filter); r < 0) {
      return r;
    }
    for (int i = 0; i < plan_.spacers; ++i) {
      if (const long r = install_filter(plan_.spacer); r < 0) {
        return r;
      }
    }
    return plan_.more_filter.empty() ? 0 : install_filter(plan_.more_filter);
  }

  // Where we are in a sandbox of somebody else's, whose filter has a listener or refuses them, the
  // same calls are refused and nobody is told.
  long filter_watched() noexcept {
    const long listener = install_watched_filter(plan_.watched_filter);
    if (listener < 0) {
      const long r = install_filter(plan_.filter);
      return r < 0 ? r : hand_out(listener_to_, {});
    }
    const std::array<int, 1> passed = {static_cast<int>(listener)};
    return hand_out(listener_to_, passed);
  }

  // What the helper that makes the network namespace and we say to each other.
  struct Network {
    long pid = -ECHILD;
    long descriptor = -ECANCELED;
    WayOut way_out;
    std::uint16_t egress_port = 0;
  };

  const Plan& plan_;
  Report report_;
  Network network_;
  std::array<long, kMostWardenFiles + 2> warden_files_{};
  std::size_t warden_file_count_ = 0;
  long listener_to_ = -1;      // plan_.listener_to, once descriptors are arranged.
  long inner_workspace_ = -1;  // The mount of the workspace in which nothing is closed.
  std::uint32_t detail_ = 0;
};

}  // namespace

void enter(void* plan) noexcept { Entrance(*static_cast<const Plan*>(plan)).run(); }

}  // namespace glovebox::child
