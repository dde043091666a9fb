// SPDX-License-Identifier: Apache-2.0
// glovebox-microvm: runs a virtual machine as the guest of a native sandbox, and shows it the files
// of that sandbox.
//
// Descriptor 1 is the warden's stream, 2 where complaints go, 3 the machine's own port
// (protocol.h). The machine gets these as 5, 2 and 3, and as 4 the stream of its files.
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/sys/write_all.h"
#include "base/unique_fd.h"
#include "sandbox/microvm/exactly.h"
#include "sandbox/microvm/file_export.h"

namespace glovebox::microvm {
namespace {

constexpr int kMachineFd = 3;
constexpr int kFilesFd = 4;
constexpr int kControlFd = 5;
constexpr int kAside = 16;  // Above all of these.
constexpr int kAttempts = 3;

int complain(std::string_view what) {
  const std::string line =
      "glovebox-microvm: " + std::string(what) + ": " + std::strerror(errno) + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  return 2;
}

// Until the machine ends, or speaks nonsense.
int serve_files(int socket, UniqueFd root) {
  FileExport files(std::move(root));
  std::string request;
  for (;;) {
    std::uint32_t size = 0;
    if (!read_exactly(socket, reinterpret_cast<char*>(&size), sizeof size)) {
      return 0;
    }
    if (size < sizeof(fuse_in_header) || size > FileExport::kLongestRequest) {
      return 3;
    }
    request.resize(size);
    std::memcpy(request.data(), &size, sizeof size);
    if (!read_exactly(socket, request.data() + sizeof size, size - sizeof size) ||
        !sys::write_all(socket, files.answer(request))) {
      return 0;
    }
  }
}

// Returns the machine's process, or -1.
pid_t start_machine(char** command, int files) {
  const pid_t machine = ::fork();
  if (machine == 0) {
    // Nobody needs the machine without its files.
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::dup2(files, kFilesFd) < 0 || ::dup2(STDOUT_FILENO, kControlFd) < 0 ||
        ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
      ::_exit(complain("arrange the descriptors"));
    }
    ::execv(command[0], command);
    ::_exit(complain(command[0]));
  }
  return machine;
}

// Whether it asks for a file, and so has started, or else has ended. Its process is then reaped.
bool asks(pid_t machine, int files) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, machine, 0)));
  std::array<pollfd, 2> polled = {{{files, POLLIN, 0}, {process.get(), POLLIN, 0}}};
  while (::poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) {
  }
  if (polled[0].revents != 0) {
    return true;
  }
  (void)::waitpid(machine, nullptr, 0);
  return false;
}

int run(char** command) {
  std::array<int, 2> pair{};
  UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return complain("open the files");
  }
  const UniqueFd files(::fcntl(pair[0], F_DUPFD_CLOEXEC, kAside));
  UniqueFd theirs(::fcntl(pair[1], F_DUPFD_CLOEXEC, kAside));
  root = UniqueFd(::fcntl(root.get(), F_DUPFD_CLOEXEC, kAside));
  (void)::close(pair[0]);
  (void)::close(pair[1]);
  // On a host under load, an emulated kernel now and then takes its own processor for broken.
  for (int attempt = 1;; ++attempt) {
    const pid_t machine = start_machine(command, theirs.get());
    if (machine < 0) {
      return complain("fork");
    }
    if (asks(machine, files.get())) {
      break;
    }
    if (attempt == kAttempts) {
      return 3;
    }
  }
  theirs.reset();
  (void)::close(STDOUT_FILENO);
  (void)::close(kMachineFd);
  (void)::signal(SIGPIPE, SIG_IGN);  // A machine that is gone shows in what write(2) returns.
  return serve_files(files.get(), std::move(root));
}

}  // namespace
}  // namespace glovebox::microvm

// Usage: glovebox-microvm COMMAND...; only glovebox starts it.
int main(int argc, char** argv) { return argc < 2 ? 2 : glovebox::microvm::run(argv + 1); }
