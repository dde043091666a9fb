// SPDX-License-Identifier: Apache-2.0
// glovebox-warden: the first process of every sandbox.
//
// The set-up code (sandbox/child) has built the walls before this program starts; it holds no
// capability and cannot leave. Descriptor 3 is the control socket; the current directory is the
// workspace. Order: hide from guests, fork the launcher, confine ourselves, say what we see, serve.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "warden/filter.h"
#include "warden/launcher.h"
#include "warden/walls.h"
#include "warden/warden.h"
#include "warden/workspace.h"

namespace glovebox::warden {
namespace {

constexpr int kControlFd = 3;

int serve(bool own_pids) {
  UniqueFd control(kControlFd);
  (void)::umask(022);
  (void)::signal(SIGPIPE, SIG_IGN);
  sigset_t children;
  (void)::sigemptyset(&children);
  (void)::sigaddset(&children, SIGCHLD);
  (void)::sigprocmask(SIG_BLOCK, &children, nullptr);
  // Where we are not PID 1, orphans come to us all the same.
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);

  const ReadyReport walls = observe_walls();
  auto launcher = Launcher::create(own_pids);
  // Guests share our uid: without this they could read our memory and descriptors in /proc.
  (void)::prctl(PR_SET_DUMPABLE, 0);
  auto workspace = Workspace::create();
  UniqueFd ended(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!launcher || !workspace || !ended || !confine_self()) {
    return 1;
  }
  Warden warden(std::move(control), std::move(ended), std::move(launcher).value(),
                std::move(workspace).value());
  warden.send(Reply::kReady, 0, walls.encode());
  return warden.run();
}

}  // namespace
}  // namespace glovebox::warden

// Usage: glovebox-warden [own-pids|shared-pids]; only glovebox starts it.
int main(int argc, char** argv) {
  const std::string_view pids = argc > 1 ? argv[1] : "own-pids";
  return glovebox::warden::serve(pids == "own-pids");
}
