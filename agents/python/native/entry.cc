// SPDX-License-Identifier: Apache-2.0
#include "entry.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/sys/raw.h"
#include "sandbox/child/confine.h"

namespace glovebox::zygote {
namespace {

using sys::raw;

class Entry {
 public:
  Entry(const ForkRequest& request, std::span<const UniqueFd> passed, std::span<const int> files)
      : request_(request), passed_(passed), files_(files) {}

  Entered run() {
    struct Step {
      const char* name;
      long (Entry::*act)();
    };
    // The cgroup comes before anything is allocated on its account; the walls come last, so that
    // they need not allow any step above.
    constexpr std::array<Step, 8> kSteps = {{{"cgroup", &Entry::join_cgroups},
                                             {"namespaces", &Entry::join_namespaces},
                                             {"descriptors", &Entry::arrange_descriptors},
                                             {"identity", &Entry::become_guest},
                                             {kDirectoryStep, &Entry::enter_directory},
                                             {"limits", &Entry::set_limits},
                                             {"landlock", &Entry::restrict_to_rules},
                                             {"seccomp", &Entry::filter_calls}}};
    for (const Step& step : kSteps) {
      if (const long result = (this->*step.act)(); result < 0) {
        return {result, step.name};
      }
    }
    // Only now: before this, a process in the sandbox could have used what we held. Without this
    // call the guest's own /proc/self would be root's.
    (void)raw(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
    return {};
  }

 private:
  [[nodiscard]] int fd(std::size_t place) const { return passed_[place].get(); }

  long join_cgroups() {
    if (request_.born_in_cgroup) {
      return 0;
    }
    for (const UniqueFd& tasks : passed_.subspan(kFirstCgroup)) {
      // "0" is the writing thread, and the only move that does not wait (sandbox/child/enter.cc).
      if (const long r = raw(SYS_write, tasks.get(), "0", 1); r < 0) {
        return r;
      }
    }
    return 0;
  }

  long join_namespaces() {
    // The session's terminal and its signals are not the guest's.
    (void)raw(SYS_setsid);
    // We were born in its pid and user namespace.
    constexpr int kOthers =
        CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    return raw(SYS_setns, fd(kWarden), kOthers);
  }

  long arrange_descriptors() {
    const long null = raw(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
    if (null < 0) {
      return null;
    }
    // All of them are above 3: a zygote holds 0 to 3 open itself.
    const std::array<int, 4> targets = {static_cast<int>(null), fd(kOut), fd(kErr), fd(kChannel)};
    for (int target = 0; target < 4; ++target) {
      if (const long r = raw(SYS_dup2, targets[static_cast<std::size_t>(target)], target); r < 0) {
        return r;
      }
    }
    unsigned first = 4;
    for (const int file : files_) {
      const auto number = static_cast<unsigned>(file);
      if (number > first) {
        (void)raw(SYS_close_range, first, number - 1, 0);
      }
      if (const long r = reopen(file); r < 0) {
        return r;
      }
      first = number + 1;
    }
    return raw(SYS_close_range, first, ~0U, 0);
  }

  // Opens the file again under the same number, at the same offset.
  static long reopen(int file) {
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    const long fresh = raw(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fresh < 0) {
      return fresh;
    }
    (void)raw(SYS_lseek, fresh, raw(SYS_lseek, file, 0, SEEK_CUR), SEEK_SET);
    const long result = raw(SYS_dup3, fresh, file, O_CLOEXEC);
    (void)raw(SYS_close, fresh);
    return result;
  }

  long become_guest() {
    if (const long r = raw(SYS_setresgid, request_.gid, request_.gid, request_.gid); r < 0) {
      return r;
    }
    if (const long r = raw(SYS_setresuid, request_.uid, request_.uid, request_.uid); r < 0) {
      return r;
    }
    if (const long r = child::lock_privileges(); r < 0) {
      return r;
    }
    if (const long r = child::drop_capabilities(); r < 0) {
      return r;
    }
    if (const long r = raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); r < 0) {
      return r;
    }
    (void)raw(SYS_umask, 022);
    return 0;
  }

  // Runs as the guest: its interpreter does not begin where the guest may not go.
  long enter_directory() { return raw(SYS_chdir, request_.cwd.c_str()); }

  long set_limits() {
    for (const ForkRequest::Limit& limit : request_.limits) {
      const rlimit64 value{limit.soft, limit.hard};
      if (const long r = raw(SYS_prlimit64, 0, limit.resource, &value, nullptr); r < 0) {
        return r;
      }
    }
    return 0;
  }

  long restrict_to_rules() {
    if (request_.landlock_abi == 0) {
      return 0;
    }
    std::vector<child::AccessRule> rules;
    rules.reserve(request_.rules.size());
    for (const ForkRequest::Rule& rule : request_.rules) {
      rules.push_back({rule.path.c_str(), rule.access, false});
    }
    const child::Landlock landlock{.abi = static_cast<int>(request_.landlock_abi),
                                   .fs = request_.landlock_fs,
                                   .rules = rules};
    std::uint32_t added = 0;
    return child::restrict_files(landlock, {}, added);
  }

  long filter_calls() {
    std::vector<sock_filter> filter(request_.filter.size() / sizeof(sock_filter));
    if (filter.empty()) {
      return -EINVAL;
    }
    std::memcpy(filter.data(), request_.filter.data(), filter.size() * sizeof(sock_filter));
    return child::install_filter(filter);
  }

  const ForkRequest& request_;
  std::span<const UniqueFd> passed_;
  std::span<const int> files_;
};

}  // namespace

std::vector<int> library_files() {
  std::vector<int> files;
  constexpr int kHighest = 1024;
  for (int fd = 4; fd < kHighest; ++fd) {
    struct stat status {};
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY && ::fstat(fd, &status) == 0 &&
        S_ISREG(status.st_mode)) {
      files.push_back(fd);
    }
  }
  return files;
}

Entered enter_sandbox(const ForkRequest& request,
                      std::span<const UniqueFd> passed,
                      std::span<const int> files) {
  return Entry(request, passed, files).run();
}

}  // namespace glovebox::zygote
