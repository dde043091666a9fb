// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/native/native.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "sandbox/call_watch.h"
#include "sandbox/child/plan.h"
#include "sandbox/guest_ids.h"
#include "sandbox/launch.h"
#include "sandbox/policy/capabilities.h"
#include "sandbox/policy/policy.h"
#include "sandbox/policy/watched.h"
#include "sandbox/several_users.h"
#include "sandbox/stopwatch.h"
#include "sandbox/tiers/native/root_plan.h"

namespace glovebox {
namespace {

// The network and the cgroup namespace are not among them: the one is made beside the rest, the
// other taken after the child has entered its group.
constexpr std::uint64_t kFlags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                                 CLONE_NEWUTS | abi::kCloneClearSighand;

// How many a guest with sandboxes of its own can have of each kind: tools need a few at a time, and
// each is memory of the kernel's. A cgroup namespace shows the files of the sandbox's own group. An
// ordinary user's guest has their owner's id, and so gets no namespace to mount them in.
constexpr std::string_view kSome = "32";
constexpr std::array<child::TextFile, 8> some_namespaces(std::string_view cgroup) {
  return {{{"proc/sys/user/max_user_namespaces", kSome},
           {"proc/sys/user/max_mnt_namespaces", kSome},
           {"proc/sys/user/max_pid_namespaces", kSome},
           {"proc/sys/user/max_net_namespaces", kSome},
           {"proc/sys/user/max_ipc_namespaces", kSome},
           {"proc/sys/user/max_uts_namespaces", kSome},
           {"proc/sys/user/max_time_namespaces", "0"},
           {"proc/sys/user/max_cgroup_namespaces", cgroup}}};
}
constexpr auto kNamespaces = some_namespaces(kSome);
constexpr auto kUsersNamespaces = some_namespaces("1");  // The sandbox's own.

std::string id_map(unsigned inside, unsigned outside, unsigned count = 1) {
  return std::to_string(inside) + " " + std::to_string(outside) + " " + std::to_string(count) +
         "\n";
}

// Inside, the files of a lent file system belong to whom the numbers on the disk say, whatever
// numbers these have outside (mount_setattr(2), MOUNT_ATTR_IDMAP). Before the child attaches them:
// a mount that is visible somewhere cannot be mapped any more. Zero or a negative errno.
long map_ids(int mount_fd, const UniqueFd& user_ns, std::uint64_t more = abi::kMountNosuid) {
  const abi::MountAttr mapped{.attr_set = abi::kMountIdmap | abi::kMountNodev | more,
                              .userns_fd = static_cast<std::uint64_t>(user_ns.get())};
  return sys::raw(SYS_mount_setattr, mount_fd, "", AT_EMPTY_PATH, &mapped, sizeof mapped);
}

Result<void> lend(const SandboxSpec& spec, const UniqueFd& user_ns) {
  const auto check = [](long set, const std::string& target) {
    return set >= 0
               ? Result<void>()
               : Error::from_errno("map the ids of the mount at " + target, static_cast<int>(-set))
                     .with_hint("use Linux 5.12 or later");
  };
  const std::uint64_t more = abi::kMountNosuid | (spec.rules.exec.written ? 0 : abi::kMountNoexec);
  for (const Attachment& attachment : spec.attachments) {
    GB_TRY(check(map_ids(attachment.mount_fd, user_ns, more), attachment.target));
  }
  return spec.root_disk ? check(map_ids(spec.root_disk->mount_fd, user_ns, 0), "/")
                        : Result<void>();
}

// A root guest owns the files of the root that it is shown.
void show_owners(std::span<const int> mounts,
                 const UniqueFd& user_ns,
                 std::vector<std::string>& notes) {
  long failed = 0;
  for (const int mount_fd : mounts) {
    failed = std::min(failed, map_ids(mount_fd, user_ns));
  }
  if (failed < 0) {
    notes.push_back("files of the system belong to nobody here, and root cannot change them: " +
                    Error::from_errno("map their ids", static_cast<int>(-failed)).message());
  }
}

Result<UniqueFd> user_namespace_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/user";
  UniqueFd user_ns(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return user_ns ? Result<UniqueFd>(std::move(user_ns)) : Error::from_errno("open " + path);
}

TierFeatures features() {
  return {.limits_disk = true,
          .limits_inodes = true,
          .limits_memory = true,  // By a cgroup, else by Sandbox::end_hoarders().
          .limits_pids = true,
          .own_pids = true,
          .own_root = true,
          .loopback_network = true,
          .passes_descriptors = true,
          .returns_descriptors = true};
}

struct Setup {
  SetupStacks stacks;
  RootPlan files;
  std::string uid_map;
  std::string gid_map;
  std::vector<const char*> warden_argv;
  child::Plan plan;
};

Error unsupported(const Error& error) {
  return {ErrorCode::kUnsupported, error.message(),
          std::string(kAskDoctor) + ", or accept --min-tier landlock"};
}

// Tries the one thing that hosts forbid: a user namespace of one's own, with a mount in it.
Result<void> try_user_namespace() {
  const pid_t pid = ::fork();
  if (pid < 0) {
    return Error::from_errno("fork");
  }
  if (pid == 0) {
    const bool made = ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    ::_exit(made ? 0 : errno);
  }
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
    return Error(ErrorCode::kInternal, "the probe for user namespaces died");
  }
  if (WEXITSTATUS(status) != 0) {
    return unsupported(Error::from_errno("create a user namespace", WEXITSTATUS(status)));
  }
  return {};
}

// In a realm, others may have power over the user namespace of a sandbox while its first process
// still has our memory and descriptors; that it is undumpable keeps them out. If the setting is 1,
// each change of user makes it dumpable (proc(5), /proc/sys/fs/suid_dumpable).
Result<void> allow_realms() {
  std::ifstream file("/proc/sys/fs/suid_dumpable");
  int mode = 0;
  if (file >> mode && mode == 1) {
    return Error(
        ErrorCode::kUnsupported,
        "warm interpreters are not safe here: fs.suid_dumpable allows core dumps of any process",
        "run 'sysctl fs.suid_dumpable=0'");
  }
  return {};
}

Result<void> check_rules(const SandboxSpec& spec) {
  if (spec.nested) {
    return Error(
        ErrorCode::kUnsupported,
        "rules for commands and files do not hold for a guest that brings a sandbox of its own",
        "leave out --nested, or use a policy without such walls");
  }
  if (spec.as_root) {
    return Error(ErrorCode::kUnsupported,
                 "rules for commands and files do not hold for a guest that is root",
                 "leave out --user root, or use a policy without such walls");
  }
  if (spec.within != nullptr || spec.realm) {
    return Error(ErrorCode::kUnsupported,
                 "rules for commands and files require a separate sandbox");
  }
  if (landlock_abi() == 0) {
    return Error(ErrorCode::kUnsupported, "rules for commands and files require Landlock",
                 "boot Linux 5.13 or later with lsm=landlock,…");
  }
  return {};
}

Result<void> check_nested(const SandboxSpec& spec) {
  if (spec.as_root) {
    return Error(ErrorCode::kUnsupported, "a guest that is root cannot bring a sandbox of its own",
                 "leave out --nested or --user root");
  }
  if (spec.within != nullptr || spec.realm) {
    return Error(ErrorCode::kUnsupported,
                 "a guest that brings a sandbox requires a separate sandbox");
  }
  if (!Cgroup::support().memory || !Cgroup::support().pids) {
    return Error(ErrorCode::kUnsupported,
                 "a guest that brings a sandbox requires a cgroup for its memory and processes: " +
                     Cgroup::support().reason,
                 std::string(kAskDoctor));
  }
  return {};
}

// Several ids for a guest that is root, if we have none of our own to give.
Result<SubordinateIds> lend_ids() {
  (void)GB_TRY(sandboxes_with_users());
  return SubordinateIds::take();
}

policy::Filter filter_for(const SandboxSpec& spec) {
  return spec.realm     ? policy::zygote_filter()
         : spec.as_root ? policy::root_filter()
         : spec.nested  ? policy::nested_filter()
                        : policy::default_filter();
}

policy::Filter watched_filter_for(const SandboxSpec& spec) {
  return spec.realm     ? policy::watched_zygote_filter()
         : spec.as_root ? policy::watched_root_filter()
         : spec.nested  ? policy::watched_nested_filter()
                        : policy::watched_default_filter();
}

// None if the kernel gave the child none.
UniqueFd receive_listener(Handing& handing) {
  std::vector<UniqueFd> passed = handing.receive();
  return passed.size() == 1 ? std::move(passed[0]) : UniqueFd();
}

}  // namespace

Result<TierFeatures> NativeTier::probe() {
  static const Result<void> kUsable = try_user_namespace();
  if (!kUsable) {
    return kUsable.error();
  }
  GB_TRY(check_guest_is_not_root());
  return features();
}

Result<Enclosure> NativeTier::enclose(const SandboxSpec& spec) {
  GB_TRY(check_guest_is_not_root());
  if ((!spec.attachments.empty() || spec.root_disk) &&
      (::geteuid() != 0 || spec.within != nullptr || spec.realm)) {
    return Error(ErrorCode::kUnsupported,
                 "volumes and workspaces on disk require a separate sandbox and root",
                 "run glovebox as root, or use a workspace in memory");
  }
  if (spec.as_root && (spec.within != nullptr || spec.realm)) {
    return Error(ErrorCode::kUnsupported, "a guest that is root requires a separate sandbox");
  }
  if (!spec.rules.empty()) {
    GB_TRY(check_rules(spec));
  }
  if (spec.nested) {
    GB_TRY(check_nested(spec));
  }
  if (spec.realm) {
    GB_TRY(allow_realms());
  }
  Stopwatch watch;
  const InnerPrograms programs = GB_TRY(inner_programs());
  Slot slot = GB_TRY(Slot::take());
  const std::optional<GuestIds> given = guest_ids();
  const bool has_range = spec.as_root && given && given->has_ranges;
  IdRange ids;
  if (has_range) {
    ids = GB_TRY(IdRange::take());
  }
  watch.lap("slot");

  // v2 wants the group before the process; in v1 it is made while the child builds its walls.
  const bool born_in_group = Cgroup::support().mode == CgroupMode::kV2;
  std::optional<Cgroup> cgroup;
  if (born_in_group) {
    cgroup = GB_TRY(Cgroup::create(slot, spec.limits));
    watch.lap("cgroup_made");
  }

  std::shared_ptr<Setup> setup(new Setup);
  setup->files = GB_TRY(RootPlan::create(spec));
  const uid_t uid = given ? slot.host_uid() : ::geteuid();
  const gid_t gid = given ? slot.host_uid() : ::getegid();
  std::vector<std::string> notes;
  SubordinateIds lent;
  if (has_range) {
    setup->uid_map = id_map(0, ids.first(), IdRange::kSize);
    setup->gid_map = setup->uid_map;
  } else if (spec.as_root) {
    if (auto taken = lend_ids()) {
      lent = *std::move(taken);
      if (spec.root.empty()) {
        notes.emplace_back(
            "/usr is read-only: an ordinary user cannot show it with its owners; run glovebox as "
            "root for that, or from an image");
      }
    } else if (spec.needs_users) {
      return std::move(taken).error();
    } else {
      notes.push_back("root is the only user here, and /usr is read-only: " +
                      taken.error().message() + "; " + taken.error().hint());
    }
    setup->uid_map = id_map(0, uid);
    setup->gid_map = id_map(0, gid);
  } else if (!spec.realm) {
    setup->uid_map = id_map(kGuestUid, uid);
    setup->gid_map = id_map(kGuestGid, gid);
  } else if (given) {
    // All slots under their own numbers, so that the same maps hold inside a realm and outside.
    setup->uid_map = id_map(given->first, given->first, given->slots);
    setup->gid_map = setup->uid_map;
  } else {
    setup->uid_map = id_map(uid, uid);
    setup->gid_map = id_map(gid, gid);
  }
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  UniqueFd control(pair[0]);
  UniqueFd inner(pair[1]);

  child::Plan& plan = setup->plan;
  plan.control_fd = inner.get();
  plan.warden_fd = programs.warden;
  plan.archiver_fd = programs.archiver;
  plan.user_namespace = true;
  if (spec.as_root) {
    plan.kept_capabilities = policy::kRootCapabilityMask;
  } else {
    plan.uid = spec.realm ? uid : kGuestUid;
    plan.gid = spec.realm ? gid : kGuestGid;
  }
  plan.awaits_maps = given.has_value() || lent;
  plan.realm = spec.realm;
  plan.network_namespace = true;
  Handing way_out_handing;
  if (spec.egress_port != 0) {
    way_out_handing = GB_TRY(Handing::open());
    plan.egress_port = spec.egress_port;
    plan.way_out_to = way_out_handing.inner();
  }
  Handing listener_handing;
  if (calls_are_watched()) {
    listener_handing = GB_TRY(Handing::open());
    plan.listener_to = listener_handing.inner();
  }
  setup->files.apply(plan);
  // A zygote's forks take their Landlock rules in their own sandbox, and could not shed the
  // zygote's.
  plan.landlock.abi = spec.realm ? 0 : landlock_abi();
  // A process under any rule for files cannot mount anything, in any namespace (landlock(7)).
  plan.landlock.fs = spec.nested ? 0 : landlock_fs_rights(plan.landlock.abi);
  // What comes from a zygote is in no domain of the warden's, which could not signal it then. The
  // namespaces keep signals and sockets inside with or without this.
  plan.landlock.scoped = plan.landlock.abi >= 6 && spec.within == nullptr
                             ? abi::kScopeAbstractUnixSocket | abi::kScopeSignal
                             : 0;
  if (spec.nested) {
    plan.landlock.abi = plan.landlock.scoped == 0 ? 0 : plan.landlock.abi;
    plan.landlock.rules = {};
    plan.namespaces = given ? kNamespaces : kUsersNamespaces;
    plan.spacer = policy::spacer_filter();
    plan.spacers = policy::kSpacers;
  }
  plan.filter = filter_for(spec);
  plan.watched_filter = watched_filter_for(spec);
  plan.more_filter = !Cgroup::support().memory ? policy::no_hidden_memory_filter()
                     : spec.rules.exec.written ? policy::Filter()
                                               : policy::no_memory_programs_filter();
  setup->warden_argv = {"glovebox-warden", "own-pids"};
  if (spec.as_root) {
    setup->warden_argv.push_back("root");
    const auto layers = setup->files.layers();
    setup->warden_argv.insert(setup->warden_argv.end(), layers.begin(), layers.end());
  }
  setup->warden_argv.push_back(nullptr);
  plan.warden_argv = setup->warden_argv.data();
  watch.lap("plan");

  auto attempt = clone_into(plan, setup->stacks,
                            {.flags = kFlags,
                             .cgroup_fd = cgroup ? cgroup->directory_fd() : -1,
                             .realm = spec.within,
                             .charged_to = given ? uid : 0,
                             .uid_map = setup->uid_map,
                             .gid_map = setup->gid_map,
                             .user_namespace = lent.user_namespace()});
  // In a realm that has just died nothing can be born (ENOMEM, pid_namespaces(7)).
  if (!attempt && spec.within != nullptr && attempt.error().code() == ErrorCode::kExhausted) {
    return std::move(attempt).error();
  }
  if (!attempt) {
    return unsupported(attempt.error());
  }
  Unborn child(std::move(attempt).value());
  watch.lap("clone");
  inner.reset();
  way_out_handing.close_inner();
  listener_handing.close_inner();
  if (plan.awaits_maps) {
    if (given &&
        (!spec.attachments.empty() || spec.root_disk || !setup->files.mounts_to_map().empty())) {
      const UniqueFd user_ns = GB_TRY(user_namespace_of(child.pid()));
      GB_TRY(lend(spec, user_ns));
      show_owners(setup->files.mounts_to_map(), user_ns, notes);
    }
    const char go = 1;
    if (::send(control.get(), &go, 1, MSG_NOSIGNAL) != 1) {
      return Error::from_errno("release the child");
    }
    watch.lap("lent");
  }
  if (!cgroup) {
    cgroup = GB_TRY(Cgroup::create(slot, spec.limits));
    watch.lap("cgroup_made");
  }
  GB_TRY(admit(control.get(), cgroup->task_fds()));
  WayOut way_out;
  if (way_out_handing) {
    way_out = WayOut::from(way_out_handing);
    watch.lap("way_out");
  }
  if (listener_handing) {
    // Before its exec, which is asked about as well.
    if (UniqueFd listener = receive_listener(listener_handing)) {
      serve_calls(std::move(listener), child.pidfd());
    }
    watch.lap("listener");
  }

  return Enclosure{.slot = std::move(slot),
                   .ids = std::move(ids),
                   .lent_ids = std::move(lent),
                   .cgroup = *std::move(cgroup),
                   .control = std::move(control),
                   .way_out = std::move(way_out),
                   .pidfd = child.keep(),
                   .tree = {},
                   .system = setup->files.system(),
                   .features = features(),
                   .seccomp = spec.realm    ? "zygote"
                              : spec.nested ? "nested"
                                            : "default",
                   .landlock = spec.nested ? 0 : plan.landlock.abi,
                   .realm = spec.realm,
                   .nested = spec.nested,
                   .notes = std::move(notes),
                   .timings = watch.laps(),
                   .setup = setup,
                   .held = std::make_shared<SystemLayer>(setup->files.take_system_layer())};
}

}  // namespace glovebox
