// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper_process.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "base/sys/start_process.h"
#include "base/sys/wait_set.h"
#include "daemon/daemon_user.h"
#include "daemon/data_directory.h"
#include "daemon/descriptor_limit.h"
#include "daemon/directory_lock.h"
#include "daemon/service_manager.h"
#include "sandbox/slot.h"
#include "service/keeper/client.h"
#include "service/keeper/server.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 20s;
constexpr std::string_view kRole = "keeper";

enum class Found { kNone, kServing, kSilent };

Found look_for_keeper(const std::string& directory) {
  keeper::KeeperClient client(keeper_socket(directory));
  if (client.probe()) {
    return Found::kServing;
  }
  return client.responsive() ? Found::kNone : Found::kSilent;
}

// kConflict at once if another keeper serves: if we waited on, we would take its place when it is
// told to stop, though nobody wants a keeper then.
Result<UniqueFd> lock_as_keeper(const std::string& directory) {
  constexpr auto kBetweenLooks = 50ms;
  const auto deadline = Clock::now() + kPatience / 2;
  for (;;) {
    auto lock = lock_directory(directory, kRole, kBetweenLooks);
    if (lock || lock.error().code() != ErrorCode::kConflict || Clock::now() >= deadline ||
        look_for_keeper(directory) == Found::kServing) {
      return lock;
    }
  }
}

// Besides us, only the daemon's user may connect; the keeper checks who does.
Result<UniqueFd> listen_at(const std::string& path, const std::optional<DaemonUser>& user) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) {
    return Error(ErrorCode::kInvalid, "the path " + path + " is too long for a socket",
                 "choose a data directory with a shorter path");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // The socket that is there belonged to a dead keeper: we hold the lock.
  (void)::unlink(path.c_str());
  const mode_t before = ::umask(0177);
  const bool listening =
      socket &&
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(socket.get(), SOMAXCONN) == 0 &&
      (!user || (::lchown(path.c_str(), static_cast<uid_t>(-1), user->gid) == 0 &&
                 ::chmod(path.c_str(), 0660) == 0));
  (void)::umask(before);
  if (!listening) {
    return Error::from_errno("listen on " + path);
  }
  return socket;
}

// A keeper writes only a few lines before it ends, so its log only has to be bounded before the
// next one starts. One earlier log is kept.
void bound_log(const std::string& log) {
  constexpr off_t kLongest = 1 << 20;
  struct stat status {};
  if (::lstat(log.c_str(), &status) == 0 && status.st_size > kLongest) {
    (void)::rename(log.c_str(), (log + ".1").c_str());
  }
}

// Passes on nothing of the daemon's: its sockets must not stay open after it.
Result<void> spawn(const std::string& program,
                   const std::string& directory,
                   const std::string& user,
                   int lifeline) {
  const std::string log = directory + "/keeper.log";
  bound_log(log);
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd output(
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!null || !output) {
    return Error::from_errno("start the keeper");
  }
  sys::NewProcess keeper{.program = program,
                         .words = {"glovebox", "keeper", "--data", directory},
                         .descriptors = {null.get(), output.get(), output.get()},
                         .group = sys::NewProcess::Group::kItsOwnSession};
  if (!user.empty()) {
    keeper.words.insert(keeper.words.end(), {"--user", user});
  }
  if (lifeline >= 0) {
    keeper.descriptors.push_back(lifeline);
    keeper.words.emplace_back("--lifeline");
  }
  if (auto started = sys::start_process(keeper); !started) {
    return Error::from_errno("start the keeper", started.error().os_error());
  }
  return {};
}

}  // namespace

std::string keeper_socket(const std::string& directory) { return directory + "/keeper.sock"; }

Result<UniqueFd> listen_as_keeper(const std::string& directory) {
  return listen_at(keeper_socket(directory), std::nullopt);
}

Result<void> find_keeper(const std::string& directory) {
  if (look_for_keeper(directory) == Found::kServing) {
    return {};
  }
  return Error(ErrorCode::kUnavailable, "no sandbox keeper serves " + directory,
               "start it as root: systemctl start glovebox-keeper");
}

Result<bool> ensure_keeper(const std::string& program,
                           const std::string& directory,
                           const std::string& user,
                           int lifeline) {
  switch (look_for_keeper(directory)) {
    case Found::kServing:
      return false;
    case Found::kSilent:
      return Error(ErrorCode::kUnavailable, "the keeper of " + directory + " does not respond",
                   "see " + directory +
                       "/keeper.log; to stop it and its sandboxes, kill the "
                       "process 'glovebox keeper --data " +
                       directory + "'");
    case Found::kNone:
      break;
  }
  GB_TRY(spawn(program, directory, user, lifeline));
  const auto deadline = Clock::now() + kPatience;
  while (Clock::now() < deadline) {
    if (look_for_keeper(directory) == Found::kServing) {
      return true;
    }
    (void)::poll(nullptr, 0, 10);
  }
  return Error(ErrorCode::kUnavailable, "the sandbox keeper did not start",
               "see " + directory + "/keeper.log");
}

Result<void> stop_keeper(const std::string& directory) {
  keeper::KeeperClient client(keeper_socket(directory));
  const UniqueFd process = client.process();
  // Its lock is free once the last of its sandboxes is gone.
  const bool told = client.probe() && client.call("stop", nlohmann::json::object());
  auto gone = lock_directory(directory, kRole, told || !process ? kPatience : 0s);
  if (!gone && process) {
    // Its sandboxes end with it: their wardens lose their connection.
    (void)::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
    gone = lock_directory(directory, kRole, kPatience);
  }
  if (!gone) {
    return Error(ErrorCode::kUnavailable, "the keeper of " + directory + " does not end");
  }
  // Removes what a keeper had to leave behind because it could wait no longer for a call.
  (void)sweep_leftovers();
  return {};
}

Result<void> run_keeper(const std::string& directory,
                        const std::string& user,
                        int lifeline,
                        keeper::KeeperOptions options) {
  // Large code and output go back to the system as soon as they are dropped. By default the first
  // large block that is freed raises the threshold above its size (mallopt(3)).
  (void)::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  (void)::mkdir(directory.c_str(), 0700);
  const UniqueFd lock = GB_TRY(lock_as_keeper(directory));
  std::optional<DaemonUser> daemon;
  if (!user.empty()) {
    daemon = GB_TRY(find_user(user));
    GB_TRY(share_data_directory(directory, *daemon));
    if (::fchown(lock.get(), 0, daemon->gid) != 0 || ::fchmod(lock.get(), 0640) != 0) {
      return Error::from_errno("share the keeper's lock");
    }
    options.daemon = daemon->uid;
  }
  (void)raise_descriptor_limit();
  sigset_t signals;
  (void)::sigemptyset(&signals);
  (void)::sigaddset(&signals, SIGTERM);
  (void)::sigaddset(&signals, SIGINT);
  // Before any thread exists.
  (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  (void)::signal(SIGPIPE, SIG_IGN);
  (void)::signal(SIGHUP, SIG_IGN);
  const UniqueFd told(::signalfd(-1, &signals, SFD_CLOEXEC));
  std::vector<int> ends{told.get()};
  if (lifeline >= 0) {
    (void)::fcntl(lifeline, F_SETFD, FD_CLOEXEC);
    ends.push_back(lifeline);
  }
  const UniqueFd stop = GB_TRY(sys::readable_with(ends, {}));
  (void)sweep_leftovers();
  options.directory = directory;
  UniqueFd socket = GB_TRY(listen_at(keeper_socket(directory), daemon));
  const std::shared_ptr<keeper::Keeper> kept = GB_TRY(keeper::Keeper::start(std::move(options)));
  if (kept->stays()) {
    tell_service_manager("READY=1");
  }
  auto served = keeper::serve(kept, std::move(socket), stop.get());
  (void)::unlink(keeper_socket(directory).c_str());
  return served;
}

}  // namespace glovebox
