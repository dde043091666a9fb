// SPDX-License-Identifier: Apache-2.0
#include "sandbox/microvm/machine_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "sandbox/microvm/template_files.h"
#include "sandbox/microvm/ticks.h"

namespace glovebox::microvm {
namespace {

constexpr int kFilesFd = 4;
constexpr int kControlFd = 5;
constexpr int kMonitorFd = 6;
constexpr int kStateFd = 7;

constexpr const char* kOpener = "/run/programs/microvm/memory-opener.so";

// What the machine gets beside its ports; -1 for what it does not get.
struct Passed {
  int files = -1;
  int control = STDOUT_FILENO;
  int monitor = -1;
  int state = -1;
  bool opens_template = false;
};

pid_t start(const std::vector<std::string>& command, const Passed& passed) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& each : command) {
    arguments.push_back(const_cast<char*>(each.c_str()));
  }
  arguments.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) {
    return pid;
  }
  // Nobody needs the machine without its files.
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto pass = [](int fd, int as) { return fd < 0 || ::dup2(fd, as) == as; };
  if (!pass(passed.files, kFilesFd) || !pass(passed.control, kControlFd) ||
      !pass(STDERR_FILENO, STDOUT_FILENO) || !pass(passed.monitor, kMonitorFd) ||
      !pass(passed.state, kStateFd) ||
      // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
      (passed.opens_template && ::setenv("LD_PRELOAD", kOpener, 1) != 0)) {
    ::_exit(complain("arrange the descriptors"));
  }
  ::execv(arguments[0], arguments.data());
  ::_exit(complain(command[0]));
}

void add_memory(std::vector<std::string>& command, const std::string& file, std::string_view size) {
  command.insert(command.end(), {"-object",
                                 "memory-backend-file,id=memory,size=" + std::string(size) +
                                     ",mem-path=" + file + ",share=on",
                                 "-machine", "memory-backend=memory", "-chardev",
                                 "socket,id=monitor,fd=" + std::to_string(kMonitorFd), "-mon",
                                 "chardev=monitor,mode=control"});
}

// The kernel's own words (Documentation/admin-guide/kernel-parameters.rst), for one that boots.
void tell_ticks(std::vector<std::string>& command) {
  const auto words = std::ranges::find(command, "-append");
  if (words != command.end() && words + 1 != command.end()) {
    words[1] += " tsc_early_khz=" + std::to_string(ticks_per_ms());
  }
}

bool send_file(int from, int to) {
  for (;;) {
    const ssize_t sent = ::sendfile(to, from, nullptr, kMostState);
    if (sent <= 0) {
      return sent == 0;
    }
  }
}

}  // namespace

int complain(std::string_view what) {
  const std::string line =
      "glovebox-microvm: " + std::string(what) + ": " + std::strerror(errno) + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  return 2;
}

Sockets make_sockets() {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return {};
  }
  const UniqueFd first(pair[0]);
  const UniqueFd second(pair[1]);
  return {.ours = UniqueFd(::fcntl(first.get(), F_DUPFD_CLOEXEC, kAside)),
          .theirs = UniqueFd(::fcntl(second.get(), F_DUPFD_CLOEXEC, kAside))};
}

MachineProcess::MachineProcess(MachineProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), monitor_(std::move(other.monitor_)) {}

void MachineProcess::end() {
  if (const pid_t pid = std::exchange(pid_, -1); pid > 0) {
    (void)::kill(pid, SIGKILL);
    (void)::waitpid(pid, nullptr, 0);
  }
}

MachineProcess MachineProcess::boot(std::vector<std::string> command, int files) {
  tell_ticks(command);
  return {start(command, {.files = files}), UniqueFd()};
}

MachineProcess MachineProcess::boot_in(std::vector<std::string> command,
                                       int files,
                                       int control,
                                       const std::string& memory,
                                       std::string_view size) {
  tell_ticks(command);
  add_memory(command, memory, size);
  Sockets monitor = make_sockets();
  MachineProcess machine(
      start(command, {.files = files, .control = control, .monitor = monitor.theirs.get()}),
      std::move(monitor.ours));
  monitor.theirs.reset();
  if (machine && !machine.monitor_.greet()) {
    machine.end();
  }
  return machine;
}

MachineProcess MachineProcess::clone(std::vector<std::string> command, int files) {
  const UniqueFd state(::open(kTemplateState, O_RDONLY | O_CLOEXEC));
  struct stat memory {};
  if (!state || ::stat(kTemplateMemory, &memory) != 0) {
    return {-1, UniqueFd()};
  }
  // The memory is still the clone's own (memory_opener.cc).
  add_memory(command, kTemplateMemory, std::to_string(memory.st_size));
  command.insert(command.end(), {"-incoming", "defer"});
  Sockets monitor = make_sockets();
  Sockets states = make_sockets();
  MachineProcess machine(start(command, {.files = files,
                                         .monitor = monitor.theirs.get(),
                                         .state = states.theirs.get(),
                                         .opens_template = true}),
                         std::move(monitor.ours));
  monitor.theirs.reset();
  states.theirs.reset();
  // It continues by itself once it has its state, as the template did.
  Monitor& asked = machine.monitor_;
  const std::string from = R"({"uri": "fd:)" + std::to_string(kStateFd) + R"("})";
  if (machine &&
      (!asked.greet() || !asked.execute("migrate-set-capabilities", kKeepMemory) ||
       !asked.execute("migrate-incoming", from) || !send_file(state.get(), states.ours.get()))) {
    machine.end();
  }
  return machine;
}

MachineProcess MachineProcess::continue_saved(std::vector<std::string> command, int files) {
  MachineProcess machine = clone(std::move(command), files);
  if (machine && (!machine.monitor_.await("MIGRATION", R"("completed")") ||
                  !machine.monitor_.execute("cont"))) {
    machine.end();
  }
  return machine;
}

}  // namespace glovebox::microvm
