// SPDX-License-Identifier: Apache-2.0
#include "embed/quiet_start.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "base/sys/spawn.h"
#include "base/unique_fd.h"

namespace glovebox::embed {
namespace {

constexpr std::size_t kStack = 64 * 1024;
// A child's end raises no signal, so that only a wait(2) with __WCLONE finds it. An exec makes the
// signal SIGCHLD; therefore the child that executes is a child of one that does not.
constexpr int kNoSignal = 0;
constexpr int kInOurMemory = CLONE_VM | CLONE_VFORK;

// Both children run in our memory, on stacks of their own, while the calling thread waits. They
// only make system calls.
struct Plan {
  const char* program = nullptr;
  char* const* words = nullptr;
  char* const* environment = nullptr;
  std::span<const int> descriptors;  // Higher than all numbers that they become.
  char* inner_stack = nullptr;       // Its top.
  int error = 0;
};

GB_NO_SANITIZER int execute(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  // The caller's handlers must not run here, in the caller's memory. All signals are blocked until
  // no handler is left.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    (void)::sigaction(number, &standard, nullptr);
  }
  (void)::setsid();
  const auto count = static_cast<int>(plan.descriptors.size());
  for (int at = 0; at < count; ++at) {
    if (::dup2(plan.descriptors[static_cast<std::size_t>(at)], at) < 0) {
      plan.error = errno;
      ::_exit(127);
    }
  }
  (void)::syscall(SYS_close_range, static_cast<unsigned>(count), ~0U, 0U);
  if (::chdir("/") == 0) {
    sigset_t none;
    (void)::sigemptyset(&none);
    (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
    (void)::execve(plan.program, plan.words, plan.environment);
  }
  plan.error = errno;
  ::_exit(127);
}

GB_NO_SANITIZER int become_an_orphans_parent(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  if (::clone(execute, plan.inner_stack, kInOurMemory | kNoSignal, &plan) < 0) {
    plan.error = errno;
  }
  ::_exit(0);
}

class Stacks {
 public:
  Stacks()
      : memory_(::mmap(nullptr,
                       2 * kStack,
                       PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
                       -1,
                       0)) {}
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() {
    if (valid()) {
      (void)::munmap(memory_, 2 * kStack);
    }
  }
  [[nodiscard]] bool valid() const { return memory_ != MAP_FAILED; }
  [[nodiscard]] char* top(std::size_t which) const {
    return static_cast<char*>(memory_) + (which + 1) * kStack;
  }

 private:
  void* memory_;
};

// While it lives, no handler of the caller's runs in a child, and the thread cannot be canceled.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    (void)::sigfillset(&all);
    (void)::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;
  ~AllSignalsBlocked() { (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// execve(2) does not write to them.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    all.push_back(const_cast<char*>(text.c_str()));
  }
  all.push_back(nullptr);
  return all;
}

}  // namespace

Result<void> start_quietly(const QuietProgram& program) {
  const std::vector<char*> words = pointers(program.words);
  const std::vector<char*> environment = pointers(program.environment);
  std::vector<UniqueFd> copies;
  std::vector<int> descriptors;
  for (const int each : program.descriptors) {
    // Higher than all final numbers, so that putting one in its place covers no other.
    copies.emplace_back(
        ::fcntl(each, F_DUPFD_CLOEXEC, static_cast<int>(program.descriptors.size())));
    if (!copies.back()) {
      return Error::from_errno("pass on a descriptor");
    }
    descriptors.push_back(copies.back().get());
  }
  const Stacks stacks;
  if (!stacks.valid()) {
    return Error::from_errno("start " + program.program);
  }
  Plan plan{.program = program.program.c_str(),
            .words = words.data(),
            .environment = environment.data(),
            .descriptors = descriptors,
            .inner_stack = stacks.top(1)};
  {
    const AllSignalsBlocked blocked;
    const int child =
        ::clone(become_an_orphans_parent, stacks.top(0), kInOurMemory | kNoSignal, &plan);
    if (child < 0) {
      plan.error = errno;
    } else {
      while (::waitpid(child, nullptr, __WCLONE) < 0 && errno == EINTR) {
      }
    }
  }
  if (plan.error != 0) {
    return Error::from_errno("start " + program.program, plan.error);
  }
  return {};
}

}  // namespace glovebox::embed
