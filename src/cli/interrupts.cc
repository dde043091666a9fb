// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupts.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace glovebox::cli {

Interrupts::Interrupts() {
  sigset_t set;
  (void)::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    (void)::sigaddset(&set, number);
  }
  (void)::sigprocmask(SIG_BLOCK, &set, nullptr);
  (void)::sigaddset(&set, SIGPIPE);
  fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int Interrupts::die_of(int number) {
  (void)::signal(number, SIG_DFL);
  sigset_t set;
  (void)::sigemptyset(&set);
  (void)::sigaddset(&set, number);
  (void)::raise(number);
  (void)::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  return 128 + number;
}

int Interrupts::take() {
  int number = 0;
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof(info)) == sizeof(info)) {
    const int next = static_cast<int>(info.ssi_signo);
    number = number == 0 || number == SIGINT ? next : number;
  }
  return number;
}

// We ignore SIGPIPE (program.cc), because most writes that fail are to sandboxes. An ignored signal
// does not stay pending, unless it is blocked.
void Interrupts::note_reader_gone() {
  sigset_t set;
  (void)::sigemptyset(&set);
  (void)::sigaddset(&set, SIGPIPE);
  (void)::sigprocmask(SIG_BLOCK, &set, nullptr);
  (void)::raise(SIGPIPE);
}

}  // namespace glovebox::cli
