// SPDX-License-Identifier: Apache-2.0
// glovebox-microvm: runs a virtual machine as the guest of a native sandbox, and shows it the files
// of that sandbox; or makes the template that other machines are clones of.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
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
#include "sandbox/microvm/exactly.h"
#include "sandbox/microvm/file_server.h"
#include "sandbox/microvm/machine_process.h"
#include "sandbox/microvm/machine_saving.h"
#include "sandbox/microvm/template_files.h"
#include "sandbox/microvm/template_maker.h"

namespace glovebox::microvm {
namespace {

constexpr int kAttempts = 3;

// Waits until the machine asks for a file, and so has started, or ends. False if it has ended.
bool asks(const MachineProcess& machine, int files) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, machine.pid(), 0)));
  std::array<pollfd, 2> polled = {{{files, POLLIN, 0}, {process.get(), POLLIN, 0}}};
  while (::poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) {
  }
  return polled[0].revents != 0;
}

// The names that a clone of the template knows; empty if they cannot be read.
std::string known_names() {
  const UniqueFd file(::open(kTemplateNames, O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 ||
      static_cast<std::size_t>(status.st_size) > kMostNames) {
    return {};
  }
  std::string names(static_cast<std::size_t>(status.st_size), '\0');
  return read_exactly(file.get(), names.data(), names.size()) ? names : std::string();
}

int serve_machine(
    MachineProcess& machine, Sockets& files, UniqueFd root, UniqueFd& saving, bool has_names) {
  files.theirs.reset();
  (void)::close(STDOUT_FILENO);
  (void)::close(kMachineFd);
  FileServer server(std::move(files.ours), std::move(root));
  if (has_names && !server.go_on(known_names())) {
    return complain("read the template");
  }
  serve(server, machine, saving);
  return 0;
}

int run(const std::vector<std::string>& command, UniqueFd root, std::string_view way) {
  Sockets files = make_sockets();
  UniqueFd saving = receive_saving();
  if (!files.theirs || !saving) {
    return complain("open the files");
  }
  if (way == kContinue) {
    MachineProcess machine = MachineProcess::continue_saved(command, files.theirs.get());
    return machine ? serve_machine(machine, files, std::move(root), saving, true)
                   : complain("continue the machine");
  }
  // On a host under load, an emulated kernel now and then takes its own processor for broken.
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const bool cloned = way == kClone && attempt == 1;
    MachineProcess machine = cloned ? MachineProcess::clone(command, files.theirs.get())
                                    : MachineProcess::boot(command, files.theirs.get());
    if (machine && asks(machine, files.ours.get())) {
      return serve_machine(machine, files, std::move(root), saving, cloned);
    }
  }
  return 3;
}

}  // namespace
}  // namespace glovebox::microvm

// Usage: glovebox-microvm boot|clone|continue COMMAND... or glovebox-microvm make SIZE COMMAND...;
// only glovebox starts it.
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
                               : microvm::run(command, std::move(root), way);
}
