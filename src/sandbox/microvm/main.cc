// SPDX-License-Identifier: Apache-2.0
// glovebox-microvm: runs a virtual machine as the guest of a native sandbox, and shows it the files
// of that sandbox; or makes the template that others are clones of.
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/write_all.h"
#include "base/unique_fd.h"
#include "sandbox/microvm/exactly.h"
#include "sandbox/microvm/file_export.h"
#include "sandbox/microvm/machine_process.h"
#include "sandbox/microvm/template_files.h"
#include "sandbox/microvm/template_maker.h"

namespace glovebox::microvm {
namespace {

constexpr int kAttempts = 3;

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

// Whether it asks for a file, and so has started, or else has ended.
bool asks(const MachineProcess& machine, int files) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, machine.pid(), 0)));
  std::array<pollfd, 2> polled = {{{files, POLLIN, 0}, {process.get(), POLLIN, 0}}};
  while (::poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) {
  }
  return polled[0].revents != 0;
}

int run(const std::vector<std::string>& command, bool as_clone) {
  UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  root = UniqueFd(::fcntl(root.get(), F_DUPFD_CLOEXEC, kAside));
  Sockets files = make_sockets();
  if (!root || !files.theirs) {
    return complain("open the files");
  }
  // On a host under load, an emulated kernel now and then takes its own processor for broken.
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const MachineProcess machine = as_clone && attempt == 1
                                       ? MachineProcess::clone(command, files.theirs.get())
                                       : MachineProcess::boot(command, files.theirs.get());
    if (machine && asks(machine, files.ours.get())) {
      files.theirs.reset();
      (void)::close(STDOUT_FILENO);
      (void)::close(kMachineFd);
      return serve_files(files.ours.get(), std::move(root));
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
  if (argc < 4) {
    return 2;
  }
  // A machine that is gone shows in what write(2) returns.
  (void)::signal(SIGPIPE, SIG_IGN);
  const std::string_view way = argv[1];
  const std::vector<std::string> command(argv + 2, argv + argc);
  return way == microvm::kMake ? microvm::make_template(command)
                               : microvm::run(command, way == microvm::kClone);
}
