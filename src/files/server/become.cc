// SPDX-License-Identifier: Apache-2.0
#include "files/server/become.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "files/users.h"

namespace glovebox::files {
namespace {

constexpr std::size_t kMaxDatabase = 1UL << 20;
constexpr int kCannotStart = 126;
constexpr int kNoProgram = 127;

// Empty if the file cannot be read.
std::string database(const char* path) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string text(kMaxDatabase, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; file && got > 0 && size < text.size();) {
    got = ::read(file.get(), text.data() + size, text.size() - size);
    size += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  text.resize(size);
  return text;
}

void say(const std::string& text) {
  const std::string line = "glovebox: " + text + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

// If there is none, says why.
std::optional<User> find(const char* wanted) {
  auto user = find_user(wanted, database("/etc/passwd"), database("/etc/group"));
  if (!user) {
    say(user.error().message());
    return std::nullopt;
  }
  return *std::move(user);
}

std::string why(int failure) {
  return failure == EINVAL  ? "this sandbox has only one user id; run glovebox as root for more"
         : failure == EPERM ? "the sandbox's user is not root"
                            : std::strerror(failure);  // NOLINT(concurrency-mt-unsafe): one thread.
}

bool become(const User& user) {
  return ::setgroups(user.groups.size(), user.groups.data()) == 0 &&
         ::setresgid(user.gid, user.gid, user.gid) == 0 &&
         ::setresuid(user.uid, user.uid, user.uid) == 0;
}

}  // namespace

int run_as(const char* wanted, char* const* command) {
  const auto user = find(wanted);
  if (!user) {
    return kCannotStart;
  }
  if (!become(*user)) {
    const std::string reason = why(errno);
    say("cannot run as user " + std::to_string(user->uid) + ", group " + std::to_string(user->gid) +
        ": " + reason);
    return kCannotStart;
  }
  // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread.
  (void)::setenv("HOME", user->home.empty() ? "/" : user->home.c_str(), 1);
  const std::string name = user->name.empty() ? std::to_string(user->uid) : user->name;
  (void)::setenv("USER", name.c_str(), 1);
  (void)::setenv("LOGNAME", name.c_str(), 1);
  // NOLINTEND(concurrency-mt-unsafe)
  (void)::execvp(command[0], command);
  const int failure = errno;
  say("cannot start '" + std::string(command[0]) + "': " + std::strerror(failure));  // NOLINT
  return failure == ENOENT ? kNoProgram : kCannotStart;
}

bool make_for(const char* wanted) {
  const auto user = find(wanted);
  if (!user) {
    return false;
  }
  (void)::setfsgid(user->gid);
  (void)::setfsuid(user->uid);
  // They return the previous id, and report no failures; an id that nobody has changes nothing.
  if (static_cast<gid_t>(::setfsgid(~gid_t{0})) != user->gid ||
      static_cast<uid_t>(::setfsuid(~uid_t{0})) != user->uid) {
    say("cannot make files of user " + std::to_string(user->uid) + ": " + why(EINVAL));
    return false;
  }
  // Root's rights over files went with the id (capabilities(7)).
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> sets{};
  bool whole = ::syscall(SYS_capget, &header, sets.data()) == 0;
  for (__user_cap_data_struct& set : sets) {
    set.effective = set.permitted;
  }
  whole = whole && ::syscall(SYS_capset, &header, sets.data()) == 0;
  if (!whole) {
    say("cannot keep the rights of root: " + why(errno));
  }
  return whole;
}

int give_to(const char* wanted, const char* directory) {
  const auto user = find(wanted);
  if (!user) {
    return kCannotStart;
  }
  const UniqueFd given(::open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  bool done = given && ::fchown(given.get(), user->uid, user->gid) == 0;
  // An image's home may lie where each sandbox has a directory of its own, or none.
  (void)::mkdir("/home", 0755);
  if (done && user->home.starts_with("/home/") && ::mkdir(user->home.c_str(), 0755) == 0) {
    done = ::lchown(user->home.c_str(), user->uid, user->gid) == 0;
  }
  if (!done) {
    say("cannot give " + std::string(directory) + " to user " + std::to_string(user->uid) + ": " +
        why(errno));
    return kCannotStart;
  }
  return 0;
}

}  // namespace glovebox::files
