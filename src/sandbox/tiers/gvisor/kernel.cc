// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/gvisor/kernel.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/json.h"
#include "base/sys/kernel_abi.h"
#include "base/sys/memory_file.h"
#include "base/sys/raw.h"
#include "base/sys/spawn.h"
#include "base/sys/undumpable.h"
#include "sandbox/child/kernel_part.h"
#include "sandbox/launch.h"
#include "sandbox/tiers/gvisor/control.h"

namespace glovebox {
namespace {

using std::chrono::milliseconds;

// What Go's linker calls the builds that are known, near the beginning of their files: runsc
// 0.0~20240729.0-4~bpo12+2 of Debian.
constexpr std::array<std::string_view, 1> kKnownBuilds = {
    "zyoTxYO_dlUpUAUTVtSw/XbCA6SyeYW0oQqpTnpBu/g1E5DfOvbURQCnPsw60i/UPAMUD9Y7p1BgsCexGgV"};
constexpr std::size_t kBuildWithin = 4096;

// More than a starved machine takes to start them.
constexpr milliseconds kPatience{30'000};
// Of a guest with all the memory that it may have, on a slow disk.
constexpr milliseconds kSavePatience{120'000};

constexpr std::uint64_t kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

// Both read files of the host that belong to anybody, all of them mounted read-only. The kernel
// traces the processes that its guests' memory is in, and the server of files changes its root once
// more, to that of the guests.
constexpr std::uint64_t kKernelCapabilities = 1ULL << CAP_DAC_READ_SEARCH | 1ULL << CAP_SYS_PTRACE;
constexpr std::uint64_t kFilesCapabilities = 1ULL << CAP_DAC_READ_SEARCH | 1ULL << CAP_SYS_CHROOT;

// What both read of /proc when they start.
constexpr const char* kLowestAddress = "proc/sys/vm/mmap_min_addr";

// What a saved sandbox consists of, in the order in which the kernel is given it.
constexpr std::array<const char*, 3> kSavedFiles = {"/checkpoint.img", "/pages_meta.img",
                                                    "/pages.img"};

// Nothing of theirs is collected before they hold 12 MiB, which a short run never does; a heap that
// is larger grows to four times what lives in it, not to twice (GOGC of Go's runtime).
constexpr std::array<const char*, 2> kEnvironment = {"GOGC=300", nullptr};

// Both prepare for memory barriers that only other platforms than ours use, and wait for a grace
// period of RCU for that (membarrier(2), which is without effect here and reports success). No
// wall: gVisor has its own filter.
constexpr std::array<sock_filter, 6> kNoPreparation = {{
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
}};

// The network of a guest: a loopback device, with its addresses and routes.
constexpr std::string_view kLoopback =
    R"({"LoopbackLinks":[{"Name":"lo",)"
    R"("Addresses":[{"Address":"127.0.0.1","PrefixLen":8},{"Address":"::1","PrefixLen":128}],)"
    R"("Routes":[{"Destination":{"IP":"127.0.0.0","Mask":"/wAAAA=="}},)"
    R"({"Destination":{"IP":"::1","Mask":"/////////////////////w=="}}]}]})";

struct Pair {
  UniqueFd ours;  // Or the kernel's.
  UniqueFd theirs;
};

Result<Pair> new_pipe(int flags) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | flags) != 0) {
    return Error::from_errno("pipe");
  }
  return Pair{.ours = UniqueFd(ends[0]), .theirs = UniqueFd(ends[1])};
}

Result<Pair> new_connection() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  return Pair{.ours = UniqueFd(ends[0]), .theirs = UniqueFd(ends[1])};
}

Result<UniqueFd> opened(const std::string& path, int flags) {
  UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  return file ? Result<UniqueFd>(std::move(file)) : Error::from_errno("open " + path);
}

Result<void> write_to(const std::string& path, std::string_view text) {
  const UniqueFd file = GB_TRY(opened(path, O_WRONLY));
  return ::write(file.get(), text.data(), text.size()) == std::ssize(text)
             ? Result<void>()
             : Error::from_errno("write " + path);
}

struct SavedFiles {
  std::array<UniqueFd, kSavedFiles.size()> files;
  std::array<int, kSavedFiles.size()> passed;

  static Result<SavedFiles> open(const std::string& directory, int flags) {
    SavedFiles result{};
    for (std::size_t i = 0; i < kSavedFiles.size(); ++i) {
      result.files[i] = GB_TRY(opened(directory + kSavedFiles[i], flags));
      result.passed[i] = result.files[i].get();
    }
    return result;
  }
};

// The ids that we have, each as itself (user_namespaces(7)).
Result<std::string> identity_map(const char* ours) {
  std::ifstream lines(ours);
  std::string map;
  std::uint64_t first = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  while (lines >> first >> outside >> count) {
    map += std::to_string(first) + " " + std::to_string(first) + " " + std::to_string(count) + "\n";
  }
  return map.empty() ? Error(ErrorCode::kInternal, std::string(ours) + " is empty")
                     : Result<std::string>(std::move(map));
}

// "always within_size advise [never] deny force": what is in brackets.
std::string huge_pages_of_shared_memory() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string word;
  while (file >> word) {
    if (word.size() > 2 && word.front() == '[' && word.back() == ']') {
      return word.substr(1, word.size() - 2);
    }
  }
  return "never";
}

std::string memory_of_machine() {
  struct sysinfo host {};
  (void)::sysinfo(&host);
  return std::to_string(std::uint64_t{host.totalram} * host.mem_unit);
}

// One of the two programs, with all that its child reads until the exec.
struct Part {
  child::KernelPart plan;
  Pair go;
  std::vector<const char*> directories;
  std::vector<const char*> files;
  std::vector<child::Graft> grafts;
  std::vector<child::Bind> binds;
  std::vector<std::string> paths;  // Of binds.
  std::vector<int> descriptors;
  std::vector<std::string> words;
  std::vector<const char*> argv;
  alignas(16) std::array<std::byte, 16UL * 1024> stack;

  void bind(const char* source, const char* target, std::uint64_t attributes = 0) {
    binds.push_back(
        {.source = source, .target = target, .attributes = attributes, .optional = false});
  }

  // "--name=5,6,7" for the last `count` descriptors.
  void name_last(const std::string& name, std::size_t count) {
    std::string word = "--" + name + "=";
    for (std::size_t i = descriptors.size() - count; i < descriptors.size(); ++i) {
      word += (word.back() == '=' ? "" : ",") + std::to_string(i);
    }
    words.push_back(std::move(word));
  }

  void give(const std::string& name, int descriptor) {
    descriptors.push_back(descriptor);
    name_last(name, 1);
  }

  void complete() {
    plan.directories = directories;
    plan.files = files;
    plan.grafts = grafts;
    plan.binds = binds;
    plan.descriptors = descriptors;
    for (const std::string& word : words) {
      argv.push_back(word.c_str());
    }
    argv.push_back(nullptr);
    plan.argv = argv.data();
    plan.environment = kEnvironment.data();
  }
};

// All that both are made of and that passes between them.
class Start {
 public:
  Start(const RunscOrder& order,
        const UniqueFd& program,
        const Bundle& bundle,
        const BundleRoot& root)
      : order_(order), program_(program), bundle_(bundle), root_(root) {}

  Result<Runsc> run(const Cgroup& cgroup);

 private:
  Result<void> open_all();
  void plan(Part& part, std::uint64_t capabilities, const Cgroup& cgroup) const;
  void begin_words(Part& part, const char* name, const char* command);
  void plan_kernel(const Cgroup& cgroup);
  void plan_files(const Cgroup& cgroup);
  Result<Cloned> give_birth(Part& part, const Cgroup& cgroup);
  Result<void> admit(const Part& part, pid_t pid) const;
  Result<void> await_programs();
  Result<void> begin(KernelControl control) const;

  const RunscOrder& order_;
  const UniqueFd& program_;
  const Bundle& bundle_;
  const BundleRoot& root_;
  UniqueFd ourselves_;
  UniqueFd null_;
  std::string groups_, users_;  // The maps of both.
  Pair complaints_, failure_, mounts_;
  UniqueFd control_;
  std::array<UniqueFd, 2> configurations_;  // Each is read from its own position.
  std::vector<Pair> connections_;           // Of the root and of each of the bundle's binds.
  Handing handing_;
  Part kernel_, files_;
};

Result<void> Start::open_all() {
  groups_ = GB_TRY(identity_map("/proc/self/gid_map"));
  users_ = GB_TRY(identity_map("/proc/self/uid_map"));
  ourselves_ = GB_TRY(own_pidfd());
  null_ = GB_TRY(opened("/dev/null", O_RDWR));
  complaints_ = GB_TRY(new_pipe(O_NONBLOCK));
  kernel_.go = GB_TRY(new_pipe(0));
  files_.go = GB_TRY(new_pipe(0));
  failure_ = GB_TRY(new_pipe(0));
  mounts_ = GB_TRY(new_pipe(0));
  for (UniqueFd& configuration : configurations_) {
    configuration = GB_TRY(sys::memory_file(bundle_.config));
  }
  for (std::size_t i = 0; i <= bundle_.binds.size(); ++i) {
    connections_.push_back(GB_TRY(new_connection()));
  }
  control_ = GB_TRY(KernelControl::listen(order_.bundle));
  if (order_.egress_port != 0) {
    handing_ = GB_TRY(Handing::open());
  }
  return {};
}

void Start::plan(Part& part, std::uint64_t capabilities, const Cgroup& cgroup) const {
  part.plan.go = part.go.ours.get();
  part.plan.maker = ourselves_.get();
  part.plan.failure = failure_.theirs.get();
  part.plan.program = program_.get();
  part.plan.tasks = cgroup.task_fds();
  part.plan.capabilities = capabilities;
  part.plan.filter = kNoPreparation;
  part.directories = {"proc", "proc/sys", "proc/sys/vm"};
  part.files = {kLowestAddress};
  part.bind("/proc/sys/vm/mmap_min_addr", kLowestAddress, abi::kMountNoexec);
  part.descriptors = {null_.get(), null_.get(), complaints_.theirs.get()};
}

void Start::begin_words(Part& part, const char* name, const char* command) {
  part.words = runsc_options(order_);
  part.words.front() = name;
  part.words.insert(part.words.end(), {command, "--bundle=" + order_.bundle,
                                       // We have done that.
                                       "--setup-root=false", "--apply-caps=false"});
  std::string mounts = "--gofer-mount-confs=lisafs:none";
  for (std::size_t i = 0; i < bundle_.binds.size(); ++i) {
    mounts += ",lisafs:none";
  }
  part.words.push_back(std::move(mounts));
}

void Start::plan_kernel(const Cgroup& cgroup) {
  plan(kernel_, kKernelCapabilities, cgroup);
  kernel_.files.push_back("proc/cpuinfo");
  kernel_.bind("/proc/cpuinfo", "proc/cpuinfo", abi::kMountNoexec);
  kernel_.plan.egress_port = order_.egress_port;
  kernel_.plan.way_out_to = handing_.inner();
  begin_words(kernel_, "runsc-sandbox", "boot");
  kernel_.words.insert(kernel_.words.end(), {"--total-memory=" + memory_of_machine(),
                                             "--total-host-memory=" + memory_of_machine(),
                                             "--host-shmem-huge=" + huge_pages_of_shared_memory()});
  kernel_.give("spec-fd", configurations_[0].get());
  kernel_.give("controller-fd", control_.get());
  kernel_.give("start-sync-fd", null_.get());
  kernel_.give("mounts-fd", mounts_.ours.get());
  for (const int stream : {order_.control, null_.get(), complaints_.theirs.get()}) {
    kernel_.descriptors.push_back(stream);
  }
  kernel_.name_last("stdio-fds", 3);
  for (const Pair& connection : connections_) {
    kernel_.descriptors.push_back(connection.ours.get());
  }
  kernel_.name_last("io-fds", connections_.size());
  kernel_.words.push_back(order_.id);
  kernel_.complete();
}

void Start::plan_files(const Cgroup& cgroup) {
  plan(files_, kFilesCapabilities, cgroup);
  // Where it finds its own descriptors, and its next root.
  files_.directories.insert(files_.directories.end(), {"proc/fs", root_.path.c_str()});
  files_.bind("/proc/self/fd", "proc/fs", abi::kMountNoexec);
  files_.grafts = {{.mount_fd = root_.directory.get(), .target = root_.path.c_str()}};
  for (const BundleBind& bind : bundle_.binds) {
    files_.paths.push_back(root_.path + bind.target);
  }
  for (std::size_t i = 0; i < bundle_.binds.size(); ++i) {
    files_.bind(bundle_.binds[i].source.c_str(), files_.paths[i].c_str());
  }
  begin_words(files_, "runsc-gofer", "gofer");
  files_.give("spec-fd", configurations_[1].get());
  files_.give("mounts-fd", mounts_.theirs.get());
  for (const Pair& connection : connections_) {
    files_.descriptors.push_back(connection.theirs.get());
  }
  files_.name_last("io-fds", connections_.size());
  files_.complete();
}

Result<Cloned> Start::give_birth(Part& part, const Cgroup& cgroup) {
  int pidfd = -1;
  abi::CloneArgs clone{};
  clone.flags = kNamespaces | CLONE_PIDFD | CLONE_VM | abi::kCloneClearSighand;
  clone.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  clone.exit_signal = SIGCHLD;
  clone.stack = reinterpret_cast<std::uint64_t>(part.stack.data());
  clone.stack_size = part.stack.size();
  if (cgroup.directory_fd() >= 0) {
    clone.flags |= abi::kCloneIntoCgroup;
    clone.cgroup = static_cast<std::uint64_t>(cgroup.directory_fd());
  }
  const long pid = sys::clone3_on_stack(clone, &child::enter_kernel_part, &part.plan);
  if (pid < 0) {
    return Error::from_errno("clone", static_cast<int>(-pid));
  }
  return Cloned{.pid = static_cast<pid_t>(pid), .pidfd = UniqueFd(pidfd)};
}

Result<void> Start::admit(const Part& part, pid_t pid) const {
  // The kernel locks guests' memory for moments; the cgroup limits it.
  constexpr rlimit kUnlimited{RLIM_INFINITY, RLIM_INFINITY};
  (void)::prlimit(pid, RLIMIT_MEMLOCK, &kUnlimited, nullptr);
  const std::string its = "/proc/" + std::to_string(pid);
  GB_TRY(write_to(its + "/gid_map", groups_));
  GB_TRY(write_to(its + "/uid_map", users_));
  return ::write(part.go.theirs.get(), "g", 1) == 1 ? Result<void>() : Error::from_errno("write");
}

// Waits until both have executed their program, and so left our memory.
Result<void> Start::await_programs() {
  failure_.theirs.reset();
  pollfd told{failure_.ours.get(), POLLIN, 0};
  while (::poll(&told, 1, static_cast<int>(kPatience.count())) < 0 && errno == EINTR) {
  }
  child::KernelPartFailure failure{};
  const ssize_t got = told.revents == 0 ? -1 : ::read(told.fd, &failure, sizeof failure);
  if (got == sizeof failure) {
    return Error::from_errno(std::string(child::setup_step_name(failure.step)), failure.error);
  }
  return got == 0 ? Result<void>()
                  : Error(ErrorCode::kUnavailable, "gVisor's programs could not be started");
}

// Starts what is in the kernel. The kernel's answer comes when we no longer listen, and says no
// more than its end or the first words of the warden do.
Result<void> Start::begin(KernelControl control) const {
  if (order_.egress_port == 0) {
    GB_TRY(control.send("Network.CreateLinksAndRoutes", kLoopback));
    GB_TRY(control.await_success(kPatience));
  }
  if (order_.image.empty()) {
    return control.send("containerManager.StartRoot", nlohmann::json(order_.id).dump());
  }
  const SavedFiles saved = GB_TRY(SavedFiles::open(order_.image, O_RDONLY));
  return control.send("containerManager.Restore", R"({"HavePagesFile":true})", saved.passed);
}

Result<Runsc> Start::run(const Cgroup& cgroup) {
  GB_TRY(open_all());
  auto control = GB_TRY(KernelControl::connect(order_.bundle));
  if (!control) {
    return Error(ErrorCode::kInternal, "the socket of gVisor's kernel is gone");
  }
  plan_files(cgroup);
  plan_kernel(cgroup);
  sys::become_undumpable();
  // Of the two, the kernel takes longer to begin: the other one is born meanwhile.
  Unborn kernel(GB_TRY(give_birth(kernel_, cgroup)));
  GB_TRY(admit(kernel_, kernel.pid()));
  auto files = std::make_shared<Unborn>(GB_TRY(give_birth(files_, cgroup)));
  GB_TRY(admit(files_, files->pid()));
  GB_TRY(await_programs());
  // Now only the two hold these, so that each notices the end of the other.
  connections_.clear();
  control_.reset();
  mounts_ = {};
  for (const pid_t pid : {files->pid(), kernel.pid()}) {
    GB_TRY(write_to("/proc/" + std::to_string(pid) + "/oom_score_adj", "1000"));
  }
  GB_TRY(begin(*std::move(control)));
  const pid_t pid = kernel.pid();
  return Runsc{.process = {.pid = pid, .pidfd = kernel.keep()},
               .complaints = std::move(complaints_.ours),
               .way_out = handing_ ? WayOut::from(handing_) : WayOut(),
               .held = std::move(files)};
}

}  // namespace

bool has_known_parts(int program) {
  std::array<char, kBuildWithin> bytes;
  const ssize_t got = ::pread(program, bytes.data(), bytes.size(), 0);
  const std::string_view beginning(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return std::ranges::any_of(kKnownBuilds, [&beginning](std::string_view build) {
    return beginning.find(build) != std::string_view::npos;
  });
}

std::string manner_of_start() {
  const Result<std::string> runsc = find_runsc();
  if (!runsc) {
    return {};
  }
  const UniqueFd program(::open(runsc->c_str(), O_RDONLY | O_CLOEXEC));
  return !has_known_parts(program.get())
             ? "this build of runsc is not known, so 'runsc run' starts sandboxes, which takes "
               "longer (docs/gvisor.md)"
         : ::geteuid() != 0
             ? "'runsc run' starts sandboxes, which takes longer than their start by root"
             : "this build of runsc is known, and Glovebox starts its programs itself";
}

Result<Runsc> start_kernel(const RunscOrder& order,
                           const UniqueFd& program,
                           const Bundle& bundle,
                           const BundleRoot& root,
                           const Cgroup& cgroup) {
  // Its stacks live as long as its children need them: these are killed before it goes.
  const auto start = std::make_unique<Start>(order, program, bundle, root);
  Result<Runsc> started = start->run(cgroup);
  if (!started) {
    KernelControl::forget(order.bundle);
  }
  return started;
}

Result<bool> save_kernel(const RunscOrder& order, bool goes_on) {
  auto control = GB_TRY(KernelControl::connect(order.bundle));
  if (!control) {
    return false;
  }
  const SavedFiles files = GB_TRY(SavedFiles::open(order.image, O_RDWR | O_CREAT | O_EXCL));
  const std::string argument =
      // Pages go to the disk as they are: that is quicker than compressing them.
      std::string(R"({"metadata":{"compression":"none"},"have_pages_file":true,"Resume":)") +
      (goes_on ? "true}" : "false}");
  GB_TRY(control->send("containerManager.Checkpoint", argument, files.passed));
  if (const Result<void> saved = control->await_success(kSavePatience); !saved) {
    return Error(saved.error().code(),
                 "save the memory of the sandbox: " + saved.error().message());
  }
  return true;
}

}  // namespace glovebox
