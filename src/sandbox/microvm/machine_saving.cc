// SPDX-License-Identifier: Apache-2.0
#include "sandbox/microvm/machine_saving.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "sandbox/microvm/machine_parts.h"
#include "sandbox/microvm/template_files.h"

namespace glovebox::microvm {
namespace {

// How often, and how far apart, to look whether the machine has received all answers.
constexpr int kAttempts = 500;
constexpr timespec kBetween{.tv_sec = 0, .tv_nsec = 2'000'000};

// Stops the machine with nothing on its way to it: what it asks meanwhile is answered later.
bool come_to_rest(FileServer& server, Monitor& monitor) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (server.is_heard()) {
      if (!monitor.execute("stop")) {
        return false;
      }
      if (server.is_heard()) {
        server.take_questions();
        return true;
      }
      if (!monitor.execute("cont")) {
        return false;
      }
    }
    (void)::nanosleep(&kBetween, nullptr);
  }
  return false;
}

// False if the machine cannot continue.
bool save(FileServer& server, MachineProcess& machine, int to) {
  Monitor& monitor = machine.monitor();
  if (!come_to_rest(server, monitor)) {
    return false;
  }
  const auto state = take_state(monitor);
  return state && put_part(to, *state) && put_part(to, server.known()) &&
         put_cloned_memory(to, machine.pid());
}

}  // namespace

UniqueFd receive_saving() {
  char byte = 0;
  iovec into{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &into;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(kMachineFd, &message, MSG_CMSG_CLOEXEC) != 1) {
    return {};
  }
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  int fd = -1;
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof fd)) {
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  }
  const UniqueFd received(fd);
  return UniqueFd(::fcntl(received.get(), F_DUPFD_CLOEXEC, kAside));
}

void serve(FileServer& server, MachineProcess& machine, UniqueFd& saving) {
  for (;;) {
    if (server.has_questions()) {
      if (!server.answer_one()) {
        return;
      }
      continue;
    }
    std::array<pollfd, 3> polled = {{{server.socket(), POLLIN, 0},
                                     {machine.monitor().socket(), POLLIN, 0},
                                     {saving ? saving.get() : -1, POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      return;
    }
    if (polled[0].revents != 0 && !server.answer_one()) {
      return;
    }
    if (polled[1].revents != 0 && !machine.monitor().next_is("", "")) {
      return;  // Events are ignored; only the monitor's end counts.
    }
    if (polled[2].revents == 0) {
      continue;
    }
    char asked = 0;
    if (::read(saving.get(), &asked, 1) != 1) {
      saving.reset();
    } else if (asked == static_cast<char>(Saving::kSave)) {
      if (!save(server, machine, saving.get())) {
        (void)complain("save the machine");
        return;
      }
    } else if (asked == static_cast<char>(Saving::kGoOn) && !machine.monitor().execute("cont")) {
      return;
    }
  }
}

}  // namespace glovebox::microvm
