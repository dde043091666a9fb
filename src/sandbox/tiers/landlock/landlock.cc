// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/landlock/landlock.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/kernel_abi.h"
#include "base/sys/tree.h"
#include "sandbox/child/plan.h"
#include "sandbox/exec_access.h"
#include "sandbox/guest_ids.h"
#include "sandbox/launch.h"
#include "sandbox/policy/policy.h"
#include "sandbox/stopwatch.h"

namespace glovebox {
namespace {

constexpr std::uint64_t kFlags = abi::kCloneClearSighand;

constexpr int kScopesFrom = 6;  // The ABI that keeps signals inside (Linux 6.12).

constexpr std::uint64_t kRead = abi::kFsExecute | abi::kFsReadFile | abi::kFsReadDir;
constexpr std::uint64_t kReadFile = abi::kFsReadFile;
constexpr std::uint64_t kDevice = abi::kFsReadFile | abi::kFsWriteFile | abi::kFsIoctlDev;

// What a program needs of the host's files: first where its programs are.
constexpr std::array<child::AccessRule, 5> kProgramRules = {{
    {"/usr", kRead, false},
    {"/bin", kRead, true},
    {"/sbin", kRead, true},
    {"/lib", kRead, true},
    {"/lib64", kRead, true},
}};
// Not /proc as a whole: it names every process.
constexpr std::array<child::AccessRule, 15> kHostRules = {{
    {"/etc/alternatives", kReadFile | abi::kFsReadDir, true},
    {"/etc/ld.so.cache", kReadFile, true},
    {"/dev/null", kDevice, false},
    {"/dev/zero", kDevice, false},
    {"/dev/full", kDevice, true},
    {"/dev/random", kReadFile, true},
    {"/dev/urandom", kReadFile, false},
    {"/proc/cpuinfo", kReadFile, true},
    {"/proc/meminfo", kReadFile, true},
    {"/proc/stat", kReadFile, true},
    {"/proc/loadavg", kReadFile, true},
    {"/proc/uptime", kReadFile, true},
    {"/proc/filesystems", kReadFile, true},
    // OpenSSL, and with it Node, does without this file if it is missing, but not if it may not be
    // read.
    {"/etc/ssl/openssl.cnf", kReadFile, true},
    {"/etc/pki/tls/openssl.cnf", kReadFile, true},
}};

TierFeatures features() {
  const CgroupSupport& cgroups = Cgroup::support();
  // Where the guest has a uid of its own, so RLIMIT_NPROC counts its processes and no others.
  return {.limits_memory = true,  // By a cgroup, else by Sandbox::end_hoarders().
          .limits_pids = cgroups.pids || guest_ids(),
          .passes_descriptors = true,
          .returns_descriptors = true};
}

struct Setup {
  SetupStacks stacks;
  std::string tree;
  std::string workspace;
  std::vector<Mount> mounts;
  std::optional<ExecAccess> exec;
  std::vector<child::AccessRule> rules;
  child::Plan plan;
};

Result<void> check_kernel() {
  const int abi = landlock_abi();
  if (abi == 0) {
    return Error(ErrorCode::kUnsupported, "the kernel has no Landlock",
                 "boot Linux 5.13 or later with lsm=landlock,…");
  }
  if (abi < kScopesFrom) {
    return Error(ErrorCode::kUnsupported,
                 "Landlock ABI " + std::to_string(abi) + " cannot confine signals",
                 "use Linux 6.12 or later");
  }
  return {};
}

// A directory for this sandbox alone, with the guest as its owner.
Result<std::string> make_tree(Slot& slot, uid_t owner) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const tmp = std::getenv("TMPDIR");
  const std::string tree =
      std::string(tmp != nullptr && *tmp == '/' ? tmp : "/tmp") + "/" + slot.name();
  GB_TRY(slot.note_tree(tree));
  for (const std::string& path : {tree, tree + "/workspace", tree + "/tmp"}) {
    if (::mkdir(path.c_str(), 0700) != 0) {
      return Error::from_errno("create " + path);
    }
    if (owner != ::geteuid() && ::lchown(path.c_str(), owner, owner) != 0) {
      return Error::from_errno("chown " + path);
    }
  }
  return tree;
}

}  // namespace

Result<TierFeatures> LandlockTier::probe() {
  GB_TRY(check_guest_is_not_root());
  GB_TRY(check_kernel());
  return features();
}

Result<Enclosure> LandlockTier::enclose(const SandboxSpec& spec) {
  Stopwatch watch;
  GB_TRY(check_guest_is_not_root());
  GB_TRY(check_kernel());
  GB_TRY(refuse_what_native_alone_has(spec, name()));
  const InnerPrograms programs = GB_TRY(inner_programs());
  Slot slot = GB_TRY(Slot::take());
  watch.lap("slot");
  Cgroup cgroup = GB_TRY(Cgroup::create(slot, spec.limits));
  watch.lap("cgroup_made");

  const bool has_own_id = guest_ids().has_value();
  const uid_t owner = has_own_id ? slot.host_uid() : ::geteuid();
  const std::string tree = GB_TRY(make_tree(slot, owner));
  std::shared_ptr<Setup> setup(new Setup);
  setup->tree = tree;
  setup->workspace = tree + "/workspace";
  setup->mounts = spec.mounts;
  std::vector<child::AccessRule>& rules = setup->rules;
  rules.assign(kHostRules.begin(), kHostRules.end());
  if (spec.rules.exec.empty()) {
    rules.insert(rules.end(), kProgramRules.begin(), kProgramRules.end());
  } else {
    setup->exec = GB_TRY(ExecAccess::create(spec.rules.exec, "/"));
    for (const child::AccessRule& rule : kProgramRules) {
      GB_TRY(setup->exec->add_rules(rule.path, rules));
    }
    ExecAccess::add_loaders(rules);
  }
  // As a whole: these rules hold besides.
  std::vector<std::string> system;
  for (const child::AccessRule& rule : kHostRules) {
    system.emplace_back(rule.path);
  }
  for (const child::AccessRule& rule : kProgramRules) {
    system.emplace_back(rule.path);
  }
  for (const Mount& mount : setup->mounts) {
    system.push_back(mount.source);
  }
  rules.push_back({setup->tree.c_str(), spec.rules.exec.written ? ~0ULL : ~abi::kFsExecute, false});
  for (const Mount& mount : setup->mounts) {
    // Seen where they are: there is no other root to show them in.
    struct stat status {};
    const bool file = ::stat(mount.source.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
    if (!file && setup->exec && mount.source == mount.target) {
      GB_TRY(setup->exec->add_rules(mount.source, rules));
    } else {
      rules.push_back({mount.source.c_str(), file ? kReadFile : kRead, mount.optional});
    }
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
  plan.locks_privileges = ::geteuid() == 0;
  if (has_own_id) {
    plan.uid = owner;
    plan.gid = owner;
  }
  plan.workspace = setup->workspace.c_str();
  plan.landlock.abi = landlock_abi();
  plan.landlock.fs = landlock_fs_rights(plan.landlock.abi);
  plan.landlock.scoped = abi::kScopeAbstractUnixSocket | abi::kScopeSignal;
  plan.landlock.rules = rules;
  plan.filter = has_own_id ? policy::no_namespaces_filter() : policy::shared_user_filter();
  plan.more_filter = !Cgroup::support().memory ? policy::no_hidden_memory_filter()
                     : spec.rules.exec.written ? policy::Filter()
                                               : policy::no_memory_programs_filter();
  static constexpr std::array<const char*, 3> kArguments = {"glovebox-warden", "shared-pids",
                                                            nullptr};
  plan.warden_argv = kArguments.data();
  watch.lap("plan");

  Unborn child(GB_TRY(
      clone_into(plan, setup->stacks, {.flags = kFlags, .cgroup_fd = cgroup.directory_fd()})));
  watch.lap("clone");
  inner.reset();
  GB_TRY(admit(control.get(), cgroup.task_fds()));
  return Enclosure{.slot = std::move(slot),
                   .cgroup = std::move(cgroup),
                   .control = std::move(control),
                   .pidfd = child.keep(),
                   .tree = tree,
                   .system = std::move(system),
                   .features = features(),
                   .seccomp = "default",
                   .landlock = plan.landlock.abi,
                   .timings = watch.laps(),
                   .setup = setup};
}

}  // namespace glovebox
