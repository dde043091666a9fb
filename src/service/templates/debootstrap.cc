// SPDX-License-Identifier: Apache-2.0
#include "service/templates/debootstrap.h"

#include <fcntl.h>
#include <fts.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/sys/start_process.h"
#include "base/sys/tree.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kMostTime = 30min;
constexpr std::size_t kMaxComplaint = 2'000;

std::optional<std::string> find_program() {
  for (const char* const path : {"/usr/sbin/debootstrap", "/usr/bin/debootstrap"}) {
    if (::access(path, X_OK) == 0) {
      return path;
    }
  }
  return std::nullopt;
}

std::vector<std::string> command_line(const std::string& program,
                                      const Debootstrap& wanted,
                                      const std::string& root) {
  std::vector<std::string> words = {"/usr/bin/unshare", "--mount",      "--pid",
                                    "--fork",           "--kill-child", program,
                                    "--variant=minbase"};
  std::string packages;
  for (const std::string& package : wanted.packages) {
    packages += (packages.empty() ? "" : ",") + package;
  }
  if (!packages.empty()) {
    words.push_back("--include=" + packages);
  }
  words.insert(words.end(), {wanted.suite, root, wanted.mirror});
  return words;
}

class Child {
 public:
  static Result<std::unique_ptr<Child>> start(const std::vector<std::string>& words) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return Error::from_errno("pipe");
    }
    std::unique_ptr<Child> child(new Child);
    child->output_ = UniqueFd(ends[0]);
    const UniqueFd theirs(ends[1]);
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    child->pid_ = GB_TRY(sys::start_process(
        {.program = words.front(),
         .words = words,
         // Nothing of the daemon's own environment, which may hold what is nobody's business.
         .environment = {{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                          "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "HOME=/nonexistent"}},
         .descriptors = {null.get(), theirs.get(), theirs.get()},
         .group = sys::NewProcess::Group::kItsOwn}));
    return child;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      (void)::kill(pid_, SIGKILL);
      (void)wait();
    }
  }

  [[nodiscard]] int output() const { return output_.get(); }
  int wait() { return sys::wait_for_end(std::exchange(pid_, -1)); }

 private:
  Child() = default;
  pid_t pid_ = -1;
  UniqueFd output_;
};

// The end of what the programs that debootstrap ran said, dpkg among them; empty where they have
// not been run. Packages have written in that root.
std::string last_of_log(const std::string& root) {
  const UniqueFd log(::open((root + "/debootstrap/debootstrap.log").c_str(),
                            O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!log || ::fstat(log.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};
  }
  std::array<char, kMaxComplaint> end{};
  const off_t begin = std::max<off_t>(0, status.st_size - std::ssize(end));
  const ssize_t got = ::pread(log.get(), end.data(), end.size(), begin);
  return {end.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

Result<void> follow(Child& child, const std::string& root, BuildMonitor& monitor) {
  const auto deadline = Clock::now() + kMostTime;
  std::string last;
  std::array<char, 4096> buffer{};
  for (;;) {
    if (!monitor.wanted()) {
      return Error(ErrorCode::kUnavailable, "canceled");
    }
    if (Clock::now() > deadline) {
      return Error(ErrorCode::kExhausted, "debootstrap took more than half an hour");
    }
    std::array<pollfd, 2> polled = {
        {{child.output(), POLLIN, 0}, {monitor.cancel_fd(), POLLIN, 0}}};
    (void)::poll(polled.data(), polled.size(), 1'000);
    if (polled[0].revents == 0) {
      continue;
    }
    const ssize_t got = ::read(child.output(), buffer.data(), buffer.size());
    if (got > 0) {
      const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
      monitor.log(text);
      last += text;
      if (last.size() > 2 * kMaxComplaint) {
        last.erase(0, last.size() - kMaxComplaint);
      }
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  const int status = child.wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    monitor.log(last_of_log(root));
    return Error(ErrorCode::kUnavailable, "debootstrap failed: " + printable(last),
                 debootstrap_hint(last));
  }
  return {};
}

// As what is unpacked from an image: ours, readable for all, without set-uid bits and devices.
Result<void> normalise(const std::string& root) {
  std::string path = root;
  char* const roots[] = {path.data(), nullptr};
  const std::unique_ptr<FTS, int (*)(FTS*)> tree(
      ::fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, nullptr), ::fts_close);
  if (!tree) {
    return Error::from_errno("read a template's root");
  }
  while (const FTSENT* const entry = ::fts_read(tree.get())) {
    const mode_t mode = entry->fts_statp->st_mode;
    int failed = 0;
    if (entry->fts_info == FTS_D) {
      failed = ::chmod(entry->fts_path, 0755);
    } else if (entry->fts_info == FTS_F) {
      failed = ::lchown(entry->fts_path, 0, 0) |
               ::chmod(entry->fts_path, (mode & 0111U) != 0 ? 0755 : 0644);
    } else if (entry->fts_info == FTS_DEFAULT) {
      failed = ::unlink(entry->fts_path);
    }
    if (failed != 0) {
      return Error::from_errno("prepare '" + printable(entry->fts_path) + "'");
    }
  }
  return {};
}

}  // namespace

std::string debootstrap_hint(std::string_view output) {
  // "I: STEP…" announces each step.
  std::string_view step;
  for (std::size_t at = 0; at < output.size(); at = output.find('\n', at) + 1) {
    if (output.substr(at).starts_with("I: ")) {
      step = output.substr(at + 3);
    }
    if (output.find('\n', at) == std::string_view::npos) {
      break;
    }
  }
  if (step.empty() && output.find("E: No such script") != std::string_view::npos) {
    return "name a suite that is in /usr/share/debootstrap/scripts";
  }
  if (step.starts_with("Extracting ") || step.starts_with("Installing ") ||
      step.starts_with("Unpacking ")) {
    return "check the free space of the data directory; the build's log ends with what the "
           "programs of debootstrap said";
  }
  if (step.starts_with("Configuring ")) {
    return "leave out the package that could not be configured; the build's log ends with what it "
           "said";
  }
  return "check that the mirror has the suite and the packages, and that this host can reach it";
}

Result<void> run_debootstrap(const Debootstrap& wanted,
                             const std::string& root,
                             BuildMonitor& monitor) {
  const auto program = find_program();
  if (!program) {
    return Error(ErrorCode::kUnsupported, "debootstrap is not installed",
                 "apt-get install debootstrap");
  }
  if (::geteuid() != 0) {
    return Error(ErrorCode::kUnsupported, "debootstrap requires a daemon that runs as root",
                 "build the root elsewhere and import it as a tar archive: format rootfs");
  }
  const auto child = GB_TRY(Child::start(command_line(*program, wanted, root)));
  GB_TRY(follow(*child, root, monitor));
  // Downloads, which no sandbox needs.
  GB_TRY(sys::remove_tree(root + "/var/cache/apt"));
  GB_TRY(sys::remove_tree(root + "/var/lib/apt/lists"));
  return normalise(root);
}

}  // namespace glovebox
