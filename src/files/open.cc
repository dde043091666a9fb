// SPDX-License-Identifier: Apache-2.0
#include "files/open.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/sys/installation.h"
#include "spec/guest.h"

namespace glovebox {
namespace {

constexpr const char* kProgram = "/glovebox-files";

// Where a sandbox with a root of its own shows it.
constexpr const char* kTarget = "/opt/glovebox/files";

Result<std::string> find_directory() {
  std::vector<std::string> candidates;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  if (const char* const named = std::getenv("GLOVEBOX_FILES"); named != nullptr) {
    candidates = {named};
  } else {
    for (const std::string& directory : GB_TRY(sys::installed_directories())) {
      candidates.push_back(directory + "/files");
    }
  }
  for (const std::string& candidate : candidates) {
    std::array<char, PATH_MAX> resolved{};
    if (::access((candidate + kProgram).c_str(), X_OK) == 0 &&
        ::realpath(candidate.c_str(), resolved.data()) != nullptr) {
      return std::string(resolved.data());
    }
  }
  return Error(ErrorCode::kUnsupported, "the file server was not found in " + candidates.front(),
               "install it in /usr/libexec/glovebox/files, or set GLOVEBOX_FILES to its "
               "directory");
}

Result<int> null_device() {
  static const UniqueFd kNull(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!kNull) {
    return Error(ErrorCode::kUnsupported, "/dev/null cannot be opened");
  }
  return kNull.get();
}

}  // namespace

Result<Mount> file_server_mount() {
  static const Result<std::string> kDirectory = find_directory();
  return Mount{.source = GB_TRY(Result<std::string>(kDirectory)), .target = kTarget};
}

std::string by_number(const std::string& user) {
  return user == "user" ? std::to_string(kGuestUid) : user;
}

std::vector<std::string> as_user(const std::string& user, const std::vector<std::string>& argv) {
  std::vector<std::string> words = {std::string(kTarget) + kProgram, "as", user};
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

std::vector<std::string> give_to(const std::string& user, const std::string& directory) {
  return {std::string(kTarget) + kProgram, "give", user, directory};
}

Result<UniqueFd> open_file_server(Sandbox& sandbox, const std::string& user) {
  const Mount mount = GB_TRY(file_server_mount());
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  UniqueFd ours(pair[0]);
  const UniqueFd theirs(pair[1]);
  const int null = GB_TRY(null_device());
  Command command;
  command.argv = {(sandbox.features().own_root ? mount.target : mount.source) + kProgram};
  if (!user.empty()) {
    command.argv.insert(command.argv.end(), {"for", user});
  }
  if (!sandbox.features().returns_descriptors) {
    command.argv.emplace_back("frames");
  }
  // If the sandbox keeps these elsewhere, it changes the values on the way.
  command.env = {{"GLOVEBOX_WORKSPACE", "/workspace"}, {"GLOVEBOX_TMP", "/tmp"}};
  RunOptions options;
  options.limits = sandbox.limits();
  options.acts_for_clients = true;
  (void)GB_TRY(sandbox.start_detached(command, options, {null, null, theirs.get()}));
  return ours;
}

}  // namespace glovebox
