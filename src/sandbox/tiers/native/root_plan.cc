// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/native/root_plan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/sys/kernel_abi.h"

namespace glovebox {
namespace {

constexpr std::uint64_t kReadOnly = abi::kMountRdonly | abi::kMountNosuid | abi::kMountNodev;

// Pages and inodes of our own files and directories, so that the guest gets what it was promised.
constexpr std::uint64_t kOwnBytes = 128 * 1024;
constexpr std::uint32_t kOwnInodes = 64;

// Top-level names that are links into /usr on every merged system, and directories elsewhere.
constexpr std::array<const char*, 5> kUsrLinks = {"bin", "sbin", "lib", "lib64", "lib32"};

// What every program may need of /etc and what is no secret of the host.
constexpr std::array<const char*, 2> kCommonEtc = {"/etc/alternatives", "/etc/ld.so.cache"};

// What /proc shows everybody of the host, beyond the guest's own processes and the machine's size.
// Files that only root can read need no mask: the guest's uid is nobody outside. Names as in runc's
// list of masked paths and in proc(5); not every kernel has all of them.
constexpr std::array<const char*, 12> kMaskedFiles = {
    "proc/keys",      "proc/key-users",  "proc/kallsyms",  "proc/latency_stats",
    "proc/softirqs",  "proc/interrupts", "proc/diskstats", "proc/partitions",
    "proc/schedstat", "proc/iomem",      "proc/ioports",   "proc/config.gz"};
constexpr std::array<const char*, 6> kMaskedDirectories = {
    "proc/acpi", "proc/asound", "proc/scsi", "proc/bus", "proc/fs", "proc/pressure"};

// What they are covered with: an empty file and an empty directory.
constexpr const char* kMasks = "run/masks";
constexpr const char* kMaskFile = "run/masks/file";
constexpr const char* kMaskDirectory = "run/masks/directory";

std::string passwd(const SandboxSpec& spec) {
  return "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n" + spec.user +
         ":x:1000:1000:" + spec.user + ":" + spec.home +
         ":/bin/bash\n"
         "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
}

std::string group(const SandboxSpec& spec) {
  return "root:x:0:\n" + spec.user + ":x:1000:\nnogroup:x:65534:\n";
}

constexpr std::string_view kNsswitch =
    "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n";

constexpr std::uint64_t kRead = abi::kFsExecute | abi::kFsReadFile | abi::kFsReadDir;
constexpr std::uint64_t kWriteDevices =
    kRead | abi::kFsWriteFile | abi::kFsTruncate | abi::kFsIoctlDev;
constexpr std::array<child::AccessRule, 6> kAccessRules = {
    {{"/", kRead, false},
     {"/proc", kRead | abi::kFsWriteFile, false},
     {"/dev", kWriteDevices, false},
     {"/workspace", ~0ULL, false},
     {"/tmp", ~0ULL, false},
     {"/dev/shm", ~0ULL, false}}};

}  // namespace

std::span<const child::AccessRule> native_access_rules() { return kAccessRules; }

const char* RootPlan::keep(std::string text) {
  texts_.push_back(std::move(text));
  return texts_.back().c_str();
}

void RootPlan::add_directory(std::string path, std::uint32_t mode) {
  if (std::ranges::find(known_directories_, path) != known_directories_.end()) {
    return;
  }
  directories_.push_back({keep(path), mode});
  known_directories_.push_back(std::move(path));
}

void RootPlan::add_parents(const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    add_directory(path.substr(0, slash), 0755);
  }
}

Result<void> RootPlan::add_mount(const Mount& mount) {
  if (mount.target.size() < 2 || mount.target.front() != '/' ||
      (mount.target + "/").find("/../") != std::string::npos) {
    return Error(ErrorCode::kInvalid, "mount target '" + mount.target + "' is no absolute path");
  }
  struct stat status {};
  if (::stat(mount.source.c_str(), &status) != 0) {
    if (mount.optional && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) {
      return {};
    }
    return Error::from_errno("mount " + mount.source);
  }
  const std::string target = mount.target.substr(1);
  add_parents(target);
  if (S_ISDIR(status.st_mode)) {
    add_directory(target, 0755);
  } else {
    files_.push_back({keep(target), {}});
  }
  binds_.push_back({keep(mount.source), keep(target), kReadOnly, mount.optional});
  return {};
}

void RootPlan::add_system() {
  add_directory("usr", 0755);
  binds_.push_back({"/usr", "usr", kReadOnly, false});
  for (const char* const name : kUsrLinks) {
    const std::string path = std::string("/") + name;
    std::array<char, 256> target{};
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size() - 1);
    if (size > 0) {
      links_.push_back({name, keep(std::string(target.data(), static_cast<std::size_t>(size)))});
    } else if (errno == EINVAL) {
      add_directory(name, 0755);
      binds_.push_back({keep(path), name, kReadOnly, false});
    }
  }
}

void RootPlan::add_devices() {
  add_directory("dev", 0755);
  for (const char* const device :
       {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    files_.push_back({device + 1, {}});
    binds_.push_back({device, device + 1, 0, false});
  }
  links_.push_back({"dev/fd", "/proc/self/fd"});
  links_.push_back({"dev/stdin", "/proc/self/fd/0"});
  links_.push_back({"dev/stdout", "/proc/self/fd/1"});
  links_.push_back({"dev/stderr", "/proc/self/fd/2"});
}

void RootPlan::add_writable(const SandboxSpec& spec) {
  const std::string home = spec.home.substr(1);
  if (spec.home != kWorkspace) {
    add_parents(home);
    links_.push_back({kWorkspace.data() + 1, keep(spec.home)});
  }

  // Pieces of the root's own tmpfs mounted over themselves, with its attributes: the root becomes
  // read-only later, they do not, and one size and one number of inodes bound them all.
  add_directory(home, 0755);
  add_directory("tmp", 01777);
  add_directory("dev/shm", 01777);
  for (const char* const path : {keep(home), "tmp", "dev/shm"}) {
    binds_.push_back({path, path, 0, false});
  }
  add_directory("var", 0755);
  links_.push_back({"var/tmp", "../tmp"});
  add_directory("run", 0755);
  add_directory("proc", 0555);
}

void RootPlan::add_etc(const SandboxSpec& spec) {
  add_directory("etc", 0755);
  files_.push_back({"etc/passwd", keep(passwd(spec))});
  files_.push_back({"etc/group", keep(group(spec))});
  files_.push_back({"etc/nsswitch.conf", kNsswitch});
  const std::string hosts =
      "127.0.0.1 localhost " + spec.hostname + "\n::1 localhost ip6-localhost\n";
  files_.push_back({"etc/hosts", keep(hosts)});
  for (const char* const path : kCommonEtc) {
    (void)add_mount({.source = path, .target = path, .optional = true});
  }
}

void RootPlan::add_proc_masks() {
  add_directory(kMasks, 0555);
  add_directory(kMaskDirectory, 0555);
  files_.push_back({kMaskFile, {}});
  // Read-only once: what is bound from a mount has its attributes.
  masks_.push_back({kMasks, kMasks, kReadOnly | abi::kMountNoexec, false});
  for (const char* const file : kMaskedFiles) {
    masks_.push_back({kMaskFile, file, 0, true});
  }
  for (const char* const directory : kMaskedDirectories) {
    masks_.push_back({kMaskDirectory, directory, 0, true});
  }
}

Result<RootPlan> RootPlan::create(const SandboxSpec& spec) {
  RootPlan plan;
  plan.add_system();
  plan.add_devices();
  plan.add_writable(spec);
  plan.add_etc(spec);
  for (const Mount& mount : spec.mounts) {
    GB_TRY(plan.add_mount(mount));
  }
  plan.add_proc_masks();
  plan.options_ = plan.keep("mode=0755,size=" + std::to_string(spec.limits.disk.count + kOwnBytes) +
                            ",nr_inodes=" + std::to_string(spec.limits.inodes + kOwnInodes));
  plan.hostname_ = plan.keep(spec.hostname);
  return plan;
}

void RootPlan::apply(child::Plan& plan) const {
  plan.own_root = true;
  plan.root_options = options_;
  plan.directories = directories_;
  plan.binds = binds_;
  plan.masks = masks_;
  plan.files = files_;
  plan.links = links_;
  plan.hostname = hostname_;
  plan.workspace = "/workspace";
  plan.landlock.rules = native_access_rules();
}

}  // namespace glovebox
