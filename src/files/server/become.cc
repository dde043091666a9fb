// SPDX-License-Identifier: Apache-2.0
#include "files/server/become.h"

#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/unique_fd.h"
#include "files/users.h"

namespace glovebox::files {
namespace {

constexpr std::size_t kMaxDatabase = 1UL << 20;
constexpr int kCannotStart = 126;
constexpr int kNoProgram = 127;

// Nothing where the file cannot be read.
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

bool become(const User& user) {
  return ::setgroups(user.groups.size(), user.groups.data()) == 0 &&
         ::setresgid(user.gid, user.gid, user.gid) == 0 &&
         ::setresuid(user.uid, user.uid, user.uid) == 0;
}

}  // namespace

int run_as(const char* wanted, char* const* command) {
  const auto user = find_user(wanted, database("/etc/passwd"), database("/etc/group"));
  if (!user) {
    say(user.error().message());
    return kCannotStart;
  }
  if (!become(*user)) {
    const int failure = errno;
    say("cannot run as user " + std::to_string(user->uid) + ", group " + std::to_string(user->gid) +
        ": " +
        (failure == EINVAL  ? "this sandbox has only one user id; run glovebox as root for more"
         : failure == EPERM ? "the sandbox's user is not root"
                            : std::strerror(failure)));  // NOLINT
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

}  // namespace glovebox::files
