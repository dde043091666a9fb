// SPDX-License-Identifier: Apache-2.0
#include "sandbox/microvm/template_maker.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/unique_fd.h"
#include "sandbox/microvm/exactly.h"
#include "sandbox/microvm/file_server.h"
#include "sandbox/microvm/machine_parts.h"
#include "sandbox/microvm/machine_process.h"
#include "sandbox/microvm/pass_frame.h"

namespace glovebox::microvm {
namespace {

constexpr const char* kMemory = "/tmp/memory";
// Otherwise every clone would repeat what the kernel still does by itself after its boot. It
// reports which memory is free two seconds after the driver of its balloon is loaded.
constexpr int kSettlingMs = 4000;

// Answers what the machine asks until its first program waits, and nobody has asked anything for a
// while. False if the machine ends before that.
bool serve_until_quiet(FileServer& server, Monitor& monitor) {
  for (bool waits = false;;) {
    std::array<pollfd, 2> polled = {{{server.socket(), POLLIN, 0}, {monitor.socket(), POLLIN, 0}}};
    const int ready = ::poll(polled.data(), polled.size(), waits ? kSettlingMs : -1);
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      return ready == 0;
    }
    if (polled[0].revents != 0 && !server.answer_one()) {
      return false;
    }
    if (polled[1].revents != 0) {
      const auto opened = monitor.next_is("VSERPORT_CHANGE", R"("open": true, "id": "port1")");
      if (!opened) {
        return false;
      }
      waits = waits || *opened;
    }
  }
}

}  // namespace

int make_template(std::vector<std::string> command, UniqueFd root) {
  const std::string size = command.front();
  command.erase(command.begin());
  Sockets files = make_sockets();
  const Sockets control = make_sockets();
  if (!control.ours || !pass_frame(STDOUT_FILENO, control.ours.get())) {
    return complain("read the first frame for the warden");
  }
  auto machine = MachineProcess::boot_in(std::move(command), files.theirs.get(),
                                         control.theirs.get(), kMemory, size);
  if (!machine) {
    return complain("start the machine");
  }
  files.theirs.reset();
  FileServer server(std::move(files.ours), std::move(root));
  if (!serve_until_quiet(server, machine.monitor()) || !is_heard(control.ours.get())) {
    return complain("wait for the machine");
  }
  const auto state = take_state(machine.monitor());
  machine.end();
  if (!state || server.is_asked()) {
    return complain("take the machine's state");
  }
  if (!put_part(STDOUT_FILENO, *state) || !put_part(STDOUT_FILENO, server.known()) ||
      !put_memory(STDOUT_FILENO, kMemory)) {
    return complain("pass the machine on");
  }
  return 0;
}

}  // namespace glovebox::microvm
