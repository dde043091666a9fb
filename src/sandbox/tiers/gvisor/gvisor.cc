// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/gvisor/gvisor.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "base/sys/tree.h"
#include "sandbox/launch.h"
#include "sandbox/moving_in.h"
#include "sandbox/policy/policy.h"
#include "sandbox/runtime_directory.h"
#include "sandbox/stopwatch.h"
#include "sandbox/tiers/gvisor/bundle.h"
#include "sandbox/tiers/gvisor/runsc.h"

namespace glovebox {
namespace {

// What the sentry, the gofer and runsc itself need (docs/gvisor.md has the measurement).
constexpr Bytes kKernelMemory{48UL << 20};

// Of all threads of the kernel, and of the processes that the guests' address spaces are in: for
// each process of a guest's there are a few.
std::uint64_t most_threads(const Limits& limits) { return 4 * limits.pids + 256; }

TierFeatures features() {
  return {.limits_disk = true,
          .limits_inodes = false,
          .limits_memory = Cgroup::support().memory,
          .limits_pids = true,
          .own_kernel = true,
          .own_pids = true,
          .own_root = true,
          .loopback_network = true,
          .passes_descriptors = false,
          .returns_descriptors = false,
          // runsc refuses it to others.
          .snapshots_memory = ::geteuid() == 0,
          .portable_snapshots = ::geteuid() == 0};
}

// Of a sandbox's directory, what is for runsc.
std::string state_in(const std::string& tree) { return tree + "/state"; }

// The sandbox's directory on the host, removed again unless it is kept.
class Tree {
 public:
  // In the runtime directory, where only our user gets to.
  static Result<Tree> make(Slot& slot) {
    Tree tree(runtime_directory() + "/." + slot.name());
    GB_TRY(slot.note_tree(tree.path_));
    for (const std::string& path : {tree.path_, state_in(tree.path_)}) {
      if (::mkdir(path.c_str(), 0700) != 0) {
        return Error::from_errno("create " + path);
      }
    }
    return tree;
  }

  Tree(Tree&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Tree& operator=(Tree&&) = delete;
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    if (!path_.empty()) {
      (void)sys::remove_tree(path_);
    }
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  std::string keep() { return std::exchange(path_, {}); }

 private:
  explicit Tree(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// The warden waits for it. Fits into the socket, whose other end nobody reads yet.
Result<void> send_request(int control, const SandboxSpec& spec) {
  const std::string bytes = moving_in_frame(spec, policy::own_kernel_filter());
  const ssize_t sent = ::send(control, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == std::ssize(bytes) ? Result<void>() : Error::from_errno("instruct the warden");
}

// A new one, or where there is an image, what continues that.
Result<Enclosure> build(const SandboxSpec& spec, const std::string& image) {
  Stopwatch watch;
  const std::string runsc = GB_TRY(find_runsc());
  const InnerPrograms programs = GB_TRY(inner_programs());
  Slot slot = GB_TRY(Slot::take());
  Tree tree = GB_TRY(Tree::make(slot));
  watch.lap("slot");
  Cgroup cgroup = GB_TRY(Cgroup::create(
      slot, spec.limits,
      Cgroup::Kernel{.memory = kKernelMemory, .most_threads = most_threads(spec.limits)}));
  watch.lap("cgroup_made");
  GB_TRY(write_bundle(tree.path(), spec, programs));
  watch.lap("bundle");
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  UniqueFd control(pair[0]);
  const UniqueFd inner(pair[1]);
  if (image.empty()) {
    GB_TRY(send_request(control.get(), spec));
  }
  Runsc started = GB_TRY(start_runsc({.program = runsc,
                                      .id = slot.name(),
                                      .bundle = tree.path(),
                                      .state = state_in(tree.path()),
                                      .image = image,
                                      .control = inner.get()},
                                     cgroup));
  watch.lap("runsc");
  return Enclosure{.slot = std::move(slot),
                   .cgroup = std::move(cgroup),
                   .control = std::move(control),
                   .pidfd = std::move(started.process.pidfd),
                   .complaints = std::move(started.complaints),
                   .tree = tree.keep(),
                   .features = features(),
                   .seccomp = "default",
                   .timings = watch.laps(),
                   .setup = {}};
}

}  // namespace

Result<TierFeatures> GvisorTier::probe() {
  GB_TRY(find_runsc());
  return features();
}

Result<Enclosure> GvisorTier::enclose(const SandboxSpec& spec) {
  GB_TRY(refuse_what_native_alone_has(spec, name()));
  return build(spec, {});
}

Result<void> GvisorTier::save(const Enclosure& enclosure, const std::string& directory) {
  if (!enclosure.features.snapshots_memory) {
    return Tier::save(enclosure, directory);
  }
  return save_by_runsc({.program = GB_TRY(find_runsc()),
                        .id = enclosure.slot->name(),
                        .bundle = enclosure.tree,
                        .state = state_in(enclosure.tree),
                        .image = directory});
}

Result<Enclosure> GvisorTier::load(const SandboxSpec& spec, const std::string& directory) {
  GB_TRY(refuse_what_native_alone_has(spec, name()));
  if (!features().snapshots_memory) {
    return Tier::load(spec, directory);
  }
  return build(spec, directory);
}

}  // namespace glovebox
