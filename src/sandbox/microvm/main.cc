// SPDX-License-Identifier: Apache-2.0
// glovebox-microvm: runs a virtual machine as the guest of a native sandbox, and shows it the files
// of that sandbox; or makes the template that others are clones of.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "sandbox/microvm/file_server.h"
#include "sandbox/microvm/machine_process.h"
#include "sandbox/microvm/template_files.h"
#include "sandbox/microvm/template_maker.h"

namespace glovebox::microvm {
namespace {

constexpr int kAttempts = 3;

// Whether it asks for a file, and so has started, or else has ended.
bool asks(const MachineProcess& machine, int files) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, machine.pid(), 0)));
  std::array<pollfd, 2> polled = {{{files, POLLIN, 0}, {process.get(), POLLIN, 0}}};
  while (::poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) {
  }
  return polled[0].revents != 0;
}

// The names that a clone of the template knows; empty where they cannot be read.
std::string known_names() {
  const UniqueFd file(::open(kTemplateNames, O_RDONLY | O_CLOEXEC));
  std::string names(kMostNames, '\0');
  const ssize_t got = ::read(file.get(), names.data(), names.size());
  names.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return names;
}

int run(const std::vector<std::string>& command, UniqueFd root, bool as_clone) {
  Sockets files = make_sockets();
  if (!files.theirs) {
    return complain("open the files");
  }
  // On a host under load, an emulated kernel now and then takes its own processor for broken.
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const bool cloned = as_clone && attempt == 1;
    const MachineProcess machine = cloned ? MachineProcess::clone(command, files.theirs.get())
                                          : MachineProcess::boot(command, files.theirs.get());
    if (machine && asks(machine, files.ours.get())) {
      files.theirs.reset();
      (void)::close(STDOUT_FILENO);
      (void)::close(kMachineFd);
      FileServer server(std::move(files.ours), std::move(root));
      if (cloned && !server.files().remember(known_names())) {
        return complain("read the template");
      }
      while (server.answer_one()) {
      }
      return 0;
    }
  }
  return 3;
}

}  // namespace
}  // namespace glovebox::microvm

// Usage: glovebox-microvm boot|clone COMMAND... or glovebox-microvm make SIZE COMMAND...; only
// glovebox starts it.
int main(int argc, char** argv) {
  namespace microvm = glovebox::microvm;
  using glovebox::UniqueFd;
  if (argc < 4) {
    return 2;
  }
  // A machine that is gone shows in what write(2) returns.
  (void)::signal(SIGPIPE, SIG_IGN);
  const UniqueFd opened(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  UniqueFd root(::fcntl(opened.get(), F_DUPFD_CLOEXEC, microvm::kAside));
  if (!root) {
    return microvm::complain("open the files");
  }
  const std::string_view way = argv[1];
  const std::vector<std::string> command(argv + 2, argv + argc);
  return way == microvm::kMake ? microvm::make_template(command, std::move(root))
                               : microvm::run(command, std::move(root), way == microvm::kClone);
}
