// SPDX-License-Identifier: Apache-2.0
// glovebox-warden: the first process of every sandbox.
//
// The set-up code (sandbox/child) has built the walls before this program starts: it holds no
// capability, cannot leave, and lives under the filter that its guests inherit. Descriptor 3 is the
// control socket, descriptor 4 the archiver's program; the current directory is the workspace. With
// a root of our own, descriptors 6 and above are the files that describe the machine, and, where
// the guest is root, two directories that nobody inside sees: our own in /proc, and that of the
// layers of the root. In a kernel of its own (gVisor) the warden builds the walls itself, with the
// control socket and nothing else: moving_in.h.
//
// It is freestanding (freestanding/start.cc), because libc's own start takes longer than all else
// that happens here before a guest runs.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/raw.h"
#include "warden/moving_in.h"
#include "warden/starter.h"
#include "warden/walls.h"
#include "warden/warden.h"
#include "warden/workspace.h"

namespace glovebox::warden {
namespace {

constexpr int kControlFd = 3;
constexpr int kArchiverFd = 4;
constexpr int kFirstMachineFd = 6;

// The process that started glovebox may have ignored signals; that would survive every exec. In a
// kernel of its own, the warden has no such starter.
void reset_signals(Guests guests) {
  for (int signal = 1; guests != Guests::kOtherUser && signal <= 64; ++signal) {
    (void)::signal(signal, SIG_DFL);
  }
  (void)::signal(SIGPIPE, SIG_IGN);
}

// Started by anybody but the set-up, "every process that I may signal" would be the host's.
bool stands_within(const ReadyReport& walls, Pids pids, Guests guests) {
  return walls.seccomp_mode == SECCOMP_MODE_FILTER &&
         (walls.no_new_privs || guests == Guests::kRoot) &&
         (pids == Pids::kShared || ::getpid() == 1);
}

// When the host runs out of memory, sandboxes go first. Guests inherit it.
void prefer_us_for_oom(int proc_self) {
  const UniqueFd fd(::openat(proc_self, "oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (fd) {
    (void)!::write(fd.get(), "1000", 4);
  }
}

// What the set-up outside has left for us.
Belongings given(Pids pids, Guests guests, std::span<char* const> places) {
  Belongings own{.archiver = UniqueFd(kArchiverFd)};
  for (std::size_t i = 0; pids == Pids::kOwn && i < own.machine.size(); ++i) {
    own.machine[i] = UniqueFd(kFirstMachineFd + static_cast<int>(i));
  }
  if (guests == Guests::kRoot) {
    const int next = kFirstMachineFd + static_cast<int>(own.machine.size());
    own.proc_self = UniqueFd(next);
    own.layers = UniqueFd(next + 1);
    for (std::size_t i = 0; i + 1 < places.size(); i += 2) {
      own.overlays.push_back({.layer = places[i], .target = places[i + 1]});
    }
    return own;
  }
  own.proc_self = UniqueFd(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const char* const place : places) {
    own.places.emplace_back(::open(place, O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return own;
}

// The control socket came as standard input, which a saved kernel is given again when it is loaded.
UniqueFd take_standard_input() {
  UniqueFd control(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, kControlFd));
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  (void)sys::raw(SYS_dup2, null.get(), STDIN_FILENO);
  return control;
}

int serve(Pids pids, Guests guests, UniqueFd control, std::span<char* const> places) {
  Belongings own;
  if (guests == Guests::kOtherUser) {
    auto moved = move_in(control.get());
    if (!moved) {
      refuse(control.get(), moved.error());
      return 2;
    }
    own = std::move(moved).value();
  } else {
    own = given(pids, guests, places);
  }
  ReadyReport walls = observe_walls(own.proc_self.get());
  walls.landlock = own.landlock;
  if (!stands_within(walls, pids, guests)) {
    constexpr std::string_view kMessage = "glovebox-warden runs only inside sandboxes\n";
    (void)!::write(STDERR_FILENO, kMessage.data(), kMessage.size());
    return 2;
  }
  prefer_us_for_oom(own.proc_self.get());
  own.proc_self.reset();
  // Guests share our uid: without this they could read our memory and descriptors in /proc.
  (void)::prctl(PR_SET_DUMPABLE, 0);
  (void)::umask(022);
  reset_signals(guests);
  sigset_t children;
  (void)::sigemptyset(&children);
  (void)::sigaddset(&children, SIGCHLD);
  (void)::sigprocmask(SIG_BLOCK, &children, nullptr);
  if (pids == Pids::kShared) {
    // Where we are not PID 1, orphans come to us all the same.
    (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  UniqueFd ended(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  auto workspace = Workspace::create(std::move(own.store), std::move(own.places));
  if (!workspace || !ended) {
    return 1;
  }
  Warden warden(std::move(control), std::move(ended), std::move(own.archiver),
                std::move(own.machine), Starter(pids, guests), std::move(workspace).value(),
                RootChanges(std::move(own.layers), std::move(own.overlays)));
  if (guests == Guests::kOtherUser) {
    warden.announce_when_described(walls.encode());
  } else {
    warden.announce(walls.encode());
  }
  warden.run();
  return 0;
}

}  // namespace
}  // namespace glovebox::warden

// Usage: glovebox-warden own-pids|shared-pids [user [PLACE…]|root [LAYER TARGET]…], or
// glovebox-warden own-kernel [stdin]; only glovebox starts it. Each PLACE is a file system beside
// the workspace's that guests write to, each LAYER that of an overlay (root_changes.h).
int main(int argc, char** argv) {
  using glovebox::warden::Guests;
  using glovebox::warden::Pids;
  const std::string_view pids = argc > 1 ? argv[1] : "own-pids";
  const std::string_view guests = argc > 2 ? argv[2] : "";
  using glovebox::UniqueFd;
  using glovebox::warden::kControlFd;
  if (pids == "own-kernel") {
    return glovebox::warden::serve(
        Pids::kOwn, Guests::kOtherUser,
        guests == "stdin" ? glovebox::warden::take_standard_input() : UniqueFd(kControlFd), {});
  }
  return glovebox::warden::serve(pids == "own-pids" ? Pids::kOwn : Pids::kShared,
                                 guests == "root" ? Guests::kRoot : Guests::kUser,
                                 UniqueFd(kControlFd),
                                 std::span(argv, static_cast<std::size_t>(argc))
                                     .subspan(static_cast<std::size_t>(std::min(argc, 3))));
}
