// SPDX-License-Identifier: Apache-2.0
#include "kernel_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>

#include "base/check.h"
#include "base/unique_fd.h"

namespace glovebox::jupyter {
namespace {

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::map<std::string, std::string> values;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      values.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  for (const auto& [name, value] : variables) {
    values.insert_or_assign(name, value);
  }
  std::vector<std::string> entries;
  entries.reserve(values.size());
  for (const auto& [name, value] : values) {
    entries.push_back(name + "=" + value);
  }
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child. Does not return; an error goes to the parent through `report`.
[[noreturn]] void become_kernel(char* const* argv,
                                char* const* environment,
                                pid_t parent,
                                int report) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(127);  // The parent died before it could be watched.
  }
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    sigaction(number, &standard, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvpe(argv[0], argv, environment);
  const int error = errno;
  (void)!write(report, &error, sizeof error);
  _exit(127);
}

}  // namespace

Result<KernelProcess> KernelProcess::start(
    const std::vector<std::string>& argv,
    const std::vector<std::pair<std::string, std::string>>& variables) {
  GB_CHECK(!argv.empty());
  std::vector<std::string> arguments = argv;
  std::vector<std::string> environment = environment_with(variables);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error::from_errno("pipe2");
  }
  const UniqueFd report(ends[0]);
  UniqueFd child_end(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return Error::from_errno("fork");
  }
  if (pid == 0) {
    become_kernel(argument_pointers.data(), environment_pointers.data(), parent, child_end.get());
  }
  setpgid(pid, pid);  // So that the group is there whoever runs first.
  KernelProcess kernel(pid);
  child_end.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(report.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof error) {
    return Error::from_errno("start kernel " + argv.front(), error);
  }
  return kernel;
}

KernelProcess::KernelProcess(KernelProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(std::exchange(other.status_, std::nullopt)) {}

KernelProcess::~KernelProcess() {
  if (pid_ > 0 && !status_) {
    kill();
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
}

void KernelProcess::interrupt() const {
  if (pid_ > 0 && !status_) {
    ::kill(-pid_, SIGINT);
  }
}

void KernelProcess::kill() const {
  if (pid_ > 0 && !status_) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // It may have left the group.
  }
}

bool KernelProcess::reap() {
  if (!status_) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = status;
    }
  }
  return status_.has_value();
}

std::string KernelProcess::end() const {
  GB_CHECK(status_.has_value());
  if (WIFSIGNALED(*status_)) {
    const char* name = sigabbrev_np(WTERMSIG(*status_));
    return "was killed by SIG" + std::string(name != nullptr ? name : "?");
  }
  return "ended with status " + std::to_string(WEXITSTATUS(*status_));
}

bool KernelProcess::ended_well() const {
  GB_CHECK(status_.has_value());
  return WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0;
}

}  // namespace glovebox::jupyter
