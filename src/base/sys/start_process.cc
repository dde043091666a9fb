// SPDX-License-Identifier: Apache-2.0
#include "base/sys/start_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace glovebox::sys {
namespace {

class Actions {
 public:
  Actions() { (void)::posix_spawn_file_actions_init(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() { (void)::posix_spawn_file_actions_destroy(&actions_); }

  Result<void> prepare(const NewProcess& process) {
    if (process.directory >= 0) {
      (void)::posix_spawn_file_actions_addfchdir_np(&actions_, process.directory);
    }
    const int count = static_cast<int>(process.descriptors.size());
    for (int at = 0; at < count; ++at) {
      // Above all of its numbers, so that putting one in its place overwrites no other.
      UniqueFd copy(
          ::fcntl(process.descriptors[static_cast<std::size_t>(at)], F_DUPFD_CLOEXEC, count));
      if (!copy) {
        return Error::from_errno("pass on a descriptor");
      }
      (void)::posix_spawn_file_actions_adddup2(&actions_, copy.get(), at);
      copies_.push_back(std::move(copy));
    }
    if (count > 0) {
      // Also closes what we inherited ourselves, which need not be close-on-exec.
      (void)::posix_spawn_file_actions_addclosefrom_np(&actions_, count);
    }
    return {};
  }

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
  std::vector<UniqueFd> copies_;
};

class Attributes {
 public:
  explicit Attributes(const NewProcess& process) {
    (void)::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t reset;
    (void)::sigemptyset(&none);
    (void)::sigemptyset(&reset);
    (void)::sigaddset(&reset, SIGPIPE);  // Which we ignore.
    if (process.all_signals_default) {
      (void)::sigfillset(&reset);
    }
    (void)::posix_spawnattr_setsigmask(&attributes_, &none);
    (void)::posix_spawnattr_setsigdefault(&attributes_, &reset);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (process.group == NewProcess::Group::kItsOwn) {
      flags |= POSIX_SPAWN_SETPGROUP;
    } else if (process.group == NewProcess::Group::kItsOwnSession) {
      flags |= POSIX_SPAWN_SETSID;
    }
    (void)::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { (void)::posix_spawnattr_destroy(&attributes_); }

  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

// posix_spawn(3) does not write to them.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) {
    all.push_back(const_cast<char*>(text.c_str()));
  }
  all.push_back(nullptr);
  return all;
}

}  // namespace

Result<pid_t> start_process(const NewProcess& process) {
  Actions actions;
  GB_TRY(actions.prepare(process));
  const Attributes attributes(process);
  const std::vector<char*> words = pointers(process.words);
  const std::vector<char*> environment =
      pointers(process.environment.value_or(std::vector<std::string>()));
  pid_t pid = -1;
  const int error =
      ::posix_spawnp(&pid, process.program.c_str(), actions.get(), attributes.get(), words.data(),
                     process.environment ? environment.data() : ::environ);
  if (error != 0) {
    return Error::from_errno("start " + process.words.front(), error);
  }
  return pid;
}

int wait_for_end(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace glovebox::sys
