// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/native/root_plan.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/sys/beneath.h"
#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/text.h"
#include "sandbox/foreign_root.h"
#include "sandbox/git_excludes.h"
#include "sandbox/machine.h"
#include "sandbox/masked_paths.h"
#include "sandbox/system_view.h"
#include "sandbox/tiers/native/planned_pins.h"

namespace glovebox {
namespace {

constexpr std::uint64_t kReadOnly = abi::kMountRdonly | abi::kMountNosuid | abi::kMountNodev;

// Pages and inodes of our own files and directories, so that the guest gets what it was promised.
constexpr std::uint64_t kOwnBytes = 128 * 1024;
constexpr std::uint32_t kOwnInodes = 64;
constexpr std::uint64_t kPage = 4096;

// Where another root is while pieces of it are bound, and our files that cover some of its own.
constexpr const char* kOtherRoot = "run/root";
constexpr const char* kOwnFiles = SandboxSpec::kOwnFiles.data() + 1;
// Of one directory: a root is made by others, and each of these is a mount.
constexpr std::size_t kMostOtherNames = 64;
// Ours in every sandbox, or of no use there.
constexpr std::array<std::string_view, 9> kOwnNames = {
    "dev", "proc", "sys", "run", "tmp", "home", "workspace", "lost+found", "opt"};

// The terminals that a guest makes. Nothing charges their buffers to it, and all of the host's
// sandboxes share kernel.pty.max. Without gid=, a terminal's group is that of whoever opens it; a
// group of its own would have to be mapped.
constexpr const char* kTerminals = "dev/pts";
constexpr const char* kTerminalOptions = "mode=0620,ptmxmode=0666,max=64";

// What they are covered with: an empty file, an empty directory, and our own descriptions of the
// machine.
constexpr const char* kMasks = "run/masks";
constexpr const char* kMaskFile = "run/masks/file";
constexpr const char* kMaskDirectory = "run/masks/directory";

// What covers what a policy hides from a guest that is not root: nobody may open it, and nobody can
// change that, because it is mounted read-only.
constexpr const char* kHiddenFile = "run/masks/hidden-file";
constexpr const char* kHiddenDirectory = "run/masks/hidden-directory";

// Where a guest that makes sandboxes has a /proc without masks, and what covers it.
constexpr const char* kWholeProc = "run/nested/proc";
constexpr const char* kWholeProcCover = "run/nested";
// bubblewrap binds it from where it is, and gives up where it is not; root would make it a file.
constexpr const char* kNoTerminal = "dev/tty";

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

// The same where not everything can be started; what is in "/" has rules of its own.
constexpr std::uint64_t kReadOnlyData = abi::kFsReadFile | abi::kFsReadDir;
constexpr std::uint64_t kReadFile = abi::kFsReadFile;
constexpr std::array<child::AccessRule, 3> kSomeProgramsRules = {
    {{"/", abi::kFsReadDir, false},
     {"/proc", kReadOnlyData | abi::kFsWriteFile, false},
     {"/dev", kWriteDevices & ~abi::kFsExecute, false}}};
constexpr std::array<const char*, 4> kOwnData = {"/etc", "/run", "/sys", "/var"};
constexpr std::array<const char*, 3> kWritten = {"/workspace", "/tmp", "/dev/shm"};
// Our own programs, and data.
constexpr std::string_view kOwnPrograms = "/opt/glovebox/";
constexpr std::string_view kOwnLayers = "/opt/glovebox/layers";

// A root guest may write everywhere but where a mount is read-only; no device can be made.
constexpr child::AccessRule kWrittenRoot = {
    "/", ~(abi::kFsMakeChar | abi::kFsMakeBlock | abi::kFsIoctlDev), false};

}  // namespace

std::span<const child::AccessRule> native_access_rules() { return kAccessRules; }

Result<UniqueFd> take_along(int directory, const std::string& source) {
  const long clone = sys::raw(SYS_open_tree, directory, source.c_str(),
                              abi::kOpenTreeClone | O_CLOEXEC | AT_SYMLINK_NOFOLLOW);
  if (clone == -EPERM) {
    return UniqueFd();
  }
  if (clone < 0) {
    return Error::from_errno("mount " + source, static_cast<int>(-clone));
  }
  UniqueFd taken(static_cast<int>(clone));
  const abi::MountAttr attributes{.attr_set = kReadOnly};
  const long set =
      sys::raw(SYS_mount_setattr, taken.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes);
  if (set < 0) {
    return Error::from_errno("mount " + source + " read-only", static_cast<int>(-set));
  }
  return taken;
}

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
  const auto type = GB_TRY(type_of(mount));
  if (!type) {
    return {};
  }
  const std::string target = mount.target.substr(1);
  if (is_of_other_root(target)) {
    // There is nothing to mount it on, and nothing can be made there.
    return mount.optional ? Result<void>()
                          : Error(ErrorCode::kUnsupported,
                                  "'" + mount.target + "' already exists in the template");
  }
  const std::string made = made_at(target);
  add_parents(made);
  if (S_ISDIR(*type)) {
    add_directory(made, 0755);
  } else {
    files_.push_back({keep(made), {}});
  }
  if (mount.closed) {
    if (UniqueFd taken = GB_TRY(take_along(AT_FDCWD, mount.source))) {
      grafts_.push_back({taken.get(), keep(target)});
      taken_.push_back(std::move(taken));
      return {};
    }
  }
  binds_.push_back({keep(mount.source), keep(target), kReadOnly, mount.optional});
  return {};
}

Result<void> RootPlan::add_attachment(const Attachment& attachment) {
  const std::string target = attachment.target.substr(1);
  if (is_of_other_root(target)) {
    return Error(ErrorCode::kInvalid, "'" + attachment.target + "' already exists in the template",
                 "choose a path that the template does not contain, such as /volumes/data");
  }
  add_parents(target);
  add_directory(target, 0755);
  grafts_.push_back({attachment.mount_fd, keep(target)});
  rules_.push_back({keep(attachment.target), written_, false});
  return {};
}

void RootPlan::add_system() {
  add_directory("usr", 0755);
  binds_.push_back({"/usr", "usr", kReadOnly, false});
  add_links_to_usr();
}

void RootPlan::add_links_to_usr() {
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

bool RootPlan::is_of_other_root(const std::string& target) const {
  return std::ranges::any_of(other_names_, [&target](const std::string& name) {
    return target == name || target.starts_with(name + "/");
  });
}

// Each directory in `directory`, which is `prefix` of the other root, is bound; a link is made
// anew, and so leads to what the guest sees under that name. Files at the top are of no use.
Result<void> RootPlan::add_other_directory(const std::string& root,
                                           int directory,
                                           const std::string& prefix) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy),
                                                    ::closedir);
  if (!entries) {
    return Error::from_errno("read the template's root");
  }
  std::size_t count = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* const entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    const std::string path = prefix + name;
    if (name == "." || name == ".." || path == "opt/glovebox" ||
        (prefix.empty() && std::ranges::find(kOwnNames, name) != kOwnNames.end()) ||
        std::ranges::find(known_directories_, path) != known_directories_.end()) {
      continue;
    }
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return Error::from_errno("stat '" + printable(path) + "' in the template");
    }
    if (S_ISDIR(status.st_mode) && as_root_) {
      GB_TRY(add_overlay(root + "/" + path, path, Owners::kShown));
    } else if (S_ISDIR(status.st_mode)) {
      add_directory(path, 0755);
      binds_.push_back({keep(std::string(kOtherRoot) + "/" + path), keep(path), kReadOnly, false});
    } else if (S_ISLNK(status.st_mode)) {
      std::array<char, 4096> target{};
      const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size() - 1);
      if (size <= 0) {
        return Error::from_errno("read link '" + printable(path) + "' in the template");
      }
      links_.push_back(
          {keep(path), keep(std::string(target.data(), static_cast<std::size_t>(size)))});
    } else {
      continue;
    }
    other_names_.push_back(path);
    ++more_inodes_;
    if (++count > kMostOtherNames) {
      return Error(ErrorCode::kInvalid, "the template's root has more than " +
                                            std::to_string(kMostOtherNames) + " directories");
    }
  }
  return {};
}

Result<void> RootPlan::add_other_root(const std::string& root) {
  const UniqueFd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top) {
    return Error::from_errno("open the template's root");
  }
  add_directory("run", 0755);
  add_directory(kOtherRoot, 0755);
  add_directory("opt", 0755);
  add_directory("opt/glovebox", 0755);
  if (!as_root_) {
    other_root_ = GB_TRY(take_along(AT_FDCWD, root));
    if (!other_root_) {
      binds_.push_back({keep(root), kOtherRoot, kReadOnly, false});
    }
    has_other_root_ = true;
  }
  GB_TRY(add_other_directory(root, top.get(), ""));
  if (const auto opt = sys::open_beneath(top.get(), "opt", O_PATH | O_DIRECTORY)) {
    GB_TRY(add_other_directory(root, opt->get(), "opt/"));
  }
  return check_foreign_root(top.get());
}

void RootPlan::add_devices() {
  add_directory("dev", 0755);
  for (const char* const device :
       {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    files_.push_back({device + 1, {}});
    binds_.push_back({device, device + 1, 0, false});
  }
  // Without /dev/tty: it would be the host's, and inotify(7) tells all who may read it when anybody
  // on the host types into a program that uses it.
  add_directory(kTerminals, 0755);
  links_.push_back({"dev/ptmx", "pts/ptmx"});
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
  const std::uint64_t attributes = spec.rules.exec.written ? 0 : abi::kMountNoexec;
  const char* const kept_home = keep(home);
  for (const char* const path : {kept_home, "tmp", "dev/shm"}) {
    const bool on_disk = path == kept_home && disk_fd_ >= 0;
    binds_.push_back({on_disk ? kDiskWorkspace : path, path, attributes, false});
  }
  if (!is_of_other_root("var")) {
    add_directory("var", 0755);
    links_.push_back({"var/tmp", "../tmp"});
  }
  add_directory("run", 0755);
  add_directory("proc", 0555);
}

void RootPlan::add_own_etc(const SandboxSpec& spec) {
  const std::vector<EtcFile> files = etc_of_guest(spec);
  if (spec.root.empty()) {
    for (const auto& [name, text] : files) {
      files_.push_back({keep(std::string("etc/") + name), keep(text)});
    }
    return;
  }
  // What the root has there is read-only: ours cover it.
  add_directory(kOwnFiles, 0755);
  for (const auto& [name, text] : files) {
    const char* const own = keep(std::string(kOwnFiles) + "/" + name);
    files_.push_back({own, keep(text)});
    // A root may lack this one, or have it as a link that leads nowhere: 127.0.0.1 is then asked
    // all the same (resolv.conf(5)).
    const bool optional = name == kResolvConf;
    binds_.push_back({own, keep(std::string("etc/") + name), kReadOnly, optional});
  }
}

void RootPlan::add_own_file(const SandboxSpec::OwnFile& file) {
  add_directory("run", 0755);
  add_directory(kOwnFiles, 0755);
  const char* const path = keep(std::string(kOwnFiles) + "/" + file.name);
  texts_.push_back(file.content);
  files_.push_back({path, texts_.back()});
  more_bytes_ += file.content.size() + kPage;
  ++more_inodes_;
  if (!file.shown_at.empty()) {
    binds_.push_back({path, keep(file.shown_at.substr(1)), kReadOnly, true});
  }
}

void RootPlan::add_own_files(const SandboxSpec& spec) {
  for (const SandboxSpec::OwnFile& file : spec.own_files) {
    add_own_file(file);
  }
  if (!spec.rules.read.closed.empty()) {
    add_own_file({.name = kGitExcludes, .content = git_excludes(spec.rules.read), .shown_at = {}});
  }
}

void RootPlan::add_etc(const SandboxSpec& spec) {
  if (!spec.root.empty()) {
    add_own_etc(spec);
    return;
  }
  add_directory("etc", 0755);
  add_own_etc(spec);
  for (const char* const path : kCommonEtc) {
    (void)add_mount({.source = path, .target = path, .optional = true});
  }
}

void RootPlan::add_proc_masks() {
  add_directory(kMasks, 0555);
  add_directory(kMaskDirectory, 0555);
  files_.push_back({kMaskFile, {}});
  if (std::ranges::any_of(pins_, &child::Pin::hidden)) {
    add_directory(kHiddenDirectory, 0);
    files_.push_back({kHiddenFile, {}, 0});
    more_inodes_ += 2;
  }
  // Read-only once: what is bound from a mount has its attributes.
  masks_.push_back({kMasks, kMasks, kReadOnly | abi::kMountNoexec, false});
  for (const char* const file : kMaskedFiles) {
    masks_.push_back({kMaskFile, file, 0, true});
  }
  for (const char* const directory : kMaskedDirectories) {
    masks_.push_back({kMaskDirectory, directory, 0, true});
  }
  if (as_root_) {
    masks_.push_back({kMaskDirectory, kLayers, 0, false});
  }
  if (nested_) {
    add_directory(kWholeProcCover, 0555);
    add_directory(kWholeProc, 0555);
    masks_.push_back({kMaskDirectory, kWholeProcCover, 0, false});
  }
}

void RootPlan::add_machine(const Limits& limits) {
  static_assert(kMachineFiles.size() <= child::kMostWardenFiles);
  add_parents("sys/devices/system/cpu/");
  links_.push_back({"sys/devices/system/cpu/possible", "online"});
  links_.push_back({"sys/devices/system/cpu/present", "online"});
  std::array<std::string, kMachineFiles.size()> texts = machine_texts(limits);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const char* const path = keep(std::string(kMasks) + "/" + kMachineFiles[i].name);
    texts_.push_back(std::move(texts[i]));
    files_.push_back({path, texts_.back()});
    warden_files_.push_back(path);
    if (std::string_view(kMachineFiles[i].shown_as).starts_with("proc/")) {
      masks_.push_back({path, kMachineFiles[i].shown_as, 0, true});
    } else {
      links_.push_back({kMachineFiles[i].shown_as, keep(std::string("/") + path)});
    }
  }
}

// What the root has at its top, or the host in its place; the rest is ours, and data.
std::vector<std::string> RootPlan::names_of_root(const SandboxSpec& spec) const {
  return spec.root.empty() ? std::vector<std::string>{"usr", "bin", "sbin", "lib", "lib64", "lib32"}
                           : other_names_;
}

void RootPlan::add_system_places(const SandboxSpec& spec) {
  system_.assign(kOwnData.begin(), kOwnData.end());
  for (const std::string& name : names_of_root(spec)) {
    system_.push_back("/" + name);
  }
  for (const Mount& mount : spec.mounts) {
    system_.push_back(mount.target);
  }
}

Result<void> RootPlan::restrict_programs(const SandboxSpec& spec) {
  exec_ = GB_TRY(ExecAccess::create(spec.rules.exec, spec.root.empty() ? "/" : spec.root));
  rules_.assign(kSomeProgramsRules.begin(), kSomeProgramsRules.end());
  for (const char* const path : kWritten) {
    rules_.push_back({path, written_, false});
  }
  for (const std::string& name : names_of_root(spec)) {
    GB_TRY(exec_->add_rules("/" + name, rules_));
  }
  for (const char* const name : kOwnData) {
    rules_.push_back({name, kReadOnlyData, true});
  }
  for (const Mount& mount : spec.mounts) {
    const auto type = GB_TRY(type_of(mount));
    const bool ours =
        mount.target.starts_with(kOwnPrograms) && !mount.target.starts_with(kOwnLayers);
    if (!type) {
      continue;
    }
    if (!S_ISDIR(*type)) {
      rules_.push_back({keep(mount.target), kReadFile | (ours ? abi::kFsExecute : 0), true});
    } else if (ours) {
      rules_.push_back({keep(mount.target), kRead, true});
    } else if (mount.source == mount.target) {
      GB_TRY(exec_->add_rules(mount.target, rules_));
    } else {
      rules_.push_back({keep(mount.target), exec_->rest(), true});
    }
  }
  ExecAccess::add_loaders(rules_);
  return {};
}

void RootPlan::add_pins(const SandboxSpec& spec) {
  for (const PlannedPin& pin : plan_pins(spec.rules.write.closed, spec.rules.read.closed)) {
    pins_.push_back({keep(pin.path), pin.directory, pin.closed, pin.hidden});
  }
  pinned_place_ = keep(spec.home.substr(1));
  more_inodes_ += static_cast<std::uint32_t>(pins_.size());
}

Result<RootPlan> RootPlan::create(const SandboxSpec& spec) {
  RootPlan plan;
  plan.as_root_ = spec.as_root;
  if (spec.root_disk) {
    plan.add_disk(spec);
  }
  plan.nested_ = spec.nested;
  plan.written_ = spec.rules.exec.written ? ~0ULL : ~abi::kFsExecute;
  if (spec.root.empty() && spec.as_root) {
    GB_TRY(plan.add_written_system());
  } else if (spec.root.empty()) {
    plan.add_system();
  } else {
    plan.add_parents(spec.home.substr(1) + "/");
    GB_TRY(plan.add_other_root(spec.root));
    if (spec.as_root) {
      plan.add_directory(std::string(kRootHome.substr(1)), 0700);
    }
  }
  plan.add_devices();
  plan.add_writable(spec);
  if (spec.as_root) {
    GB_TRY(plan.add_written_etc(spec));
  } else {
    plan.add_etc(spec);
  }
  for (const Mount& mount : spec.mounts) {
    GB_TRY(plan.add_mount(mount));
  }
  plan.add_own_files(spec);  // After the mounts, which they cover.
  if (!spec.rules.exec.empty()) {
    GB_TRY(plan.restrict_programs(spec));
  } else {
    plan.rules_.assign(kAccessRules.begin(), kAccessRules.end());
  }
  if (spec.as_root) {
    plan.rules_.push_back(kWrittenRoot);
  }
  GB_TRY(check_targets(spec.attachments, spec.home));
  for (const Attachment& attachment : spec.attachments) {
    GB_TRY(plan.add_attachment(attachment));
  }
  plan.add_pins(spec);
  plan.add_system_places(spec);
  plan.add_proc_masks();
  plan.add_machine(spec.limits);
  plan.options_ = plan.keep(
      "mode=0755,size=" +
      std::to_string(spec.limits.disk.count + kOwnBytes + plan.more_bytes_ + machine_room()) +
      ",nr_inodes=" + std::to_string(spec.limits.inodes + kOwnInodes + plan.more_inodes_));
  plan.hostname_ = plan.keep(spec.hostname);
  return plan;
}

void RootPlan::apply(child::Plan& plan) const {
  plan.own_root = true;
  plan.root_options = options_;
  plan.disk_fd = disk_fd_;
  plan.disk_place = kLayers;
  plan.disk_targets = disk_targets_;
  plan.disk_directories = disk_directories_;
  plan.disk_binds = disk_binds_;
  plan.directories = directories_;
  plan.other_root_fd = other_root_.get();
  plan.other_root_place = has_other_root_ ? kOtherRoot : nullptr;
  plan.overlays = overlays_;
  plan.binds = binds_;
  plan.grafts = grafts_;
  plan.pinned_place = pinned_place_;
  plan.pins = pins_;
  plan.hidden_file = kHiddenFile;
  plan.hidden_directory = kHiddenDirectory;
  plan.terminals_place = kTerminals;
  plan.terminals_options = kTerminalOptions;
  plan.warden_files_place = kMasks;
  plan.warden_files = warden_files_;
  plan.masks = masks_;
  plan.first_process_mask = as_root_ ? kMaskDirectory : nullptr;
  plan.layers_place = as_root_ ? kLayers : nullptr;
  plan.whole_proc_place = nested_ ? kWholeProc : nullptr;
  plan.no_terminal_place = nested_ || as_root_ ? kNoTerminal : nullptr;
  plan.files = files_;
  plan.links = links_;
  plan.hostname = hostname_;
  plan.workspace = "/workspace";
  plan.landlock.rules = rules_;
}

}  // namespace glovebox
