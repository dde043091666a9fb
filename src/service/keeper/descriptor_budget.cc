// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/descriptor_budget.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox::keeper {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Counting takes a microsecond for each before Linux 6.2, so it is done rarely.
constexpr auto kCountEvery = 1s;
constexpr auto kCountAgain = 100ms;  // If the last count leaves no room.
// More than any one step opens.
constexpr std::size_t kFewest = 48;

std::size_t limit() {
  rlimit most{};
  return ::getrlimit(RLIMIT_NOFILE, &most) == 0 ? most.rlim_cur : 1'024;
}

// Linux 6.2 and later tell the number as the directory's size (proc_pid_fd(5)).
std::size_t count_open() {
  constexpr const char* kDirectory = "/proc/self/fd";
  struct stat status {};
  if (::stat(kDirectory, &status) == 0 && status.st_size > 0) {
    return static_cast<std::size_t>(status.st_size);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(kDirectory), &::closedir);
  std::size_t count = 0;
  while (directory && ::readdir(directory.get()) != nullptr) {
    ++count;
  }
  return directory ? count : limit();  // If there is no room to look, there is none.
}

}  // namespace

Result<void> DescriptorBudget::admit(std::size_t count) {
  const std::scoped_lock lock(mutex_);
  const std::size_t most = limit() / 5 * 4;
  const auto now = Clock::now();
  if (now - counted_ > (open_ + count > most ? kCountAgain : kCountEvery)) {
    open_ = count_open();
    counted_ = now;
  }
  if (open_ + count > most) {
    return Error(ErrorCode::kExhausted, "this machine has reached its limit of sandboxes",
                 "end some sandboxes; the operator can raise the open-files limit (LimitNOFILE=)");
  }
  open_ += count;
  return {};
}

bool is_starved() {
  std::vector<UniqueFd> probes;
  while (probes.size() < kFewest) {
    if (!probes.emplace_back(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0))) {
      return true;
    }
  }
  return false;
}

Error starved() {
  return {ErrorCode::kExhausted, "the sandbox keeper has no file descriptors left",
          "end some sandboxes, or try again in a moment"};
}

}  // namespace glovebox::keeper
