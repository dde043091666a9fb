// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "daemon/keeper_process.h"
#include "doors/e2b/e2b_door.h"
#include "doors/rest/door.h"
#include "service/local/local_service.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr auto kDrainPatience = 10s;

// The keys of everybody lie in it.
Result<void> make_directory(const std::string& path) {
  struct stat status {};
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make " + path)
        .with_hint("its parent directory must exist; or choose another one with --data");
  }
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return Error(ErrorCode::kInvalid, path + " is no directory");
  }
  if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    return Error(ErrorCode::kRefused, "others may use the data directory " + path,
                 "chmod 700 " + path + ", as its owner");
  }
  return {};
}

// One write(2) for a line, so that lines of several threads stay whole.
void write_log(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Result<void> run_daemon(DaemonOptions options,
                        int stop_fd,
                        const std::function<void(std::uint16_t port)>& ready) {
  (void)std::signal(SIGPIPE, SIG_IGN);
  GB_TRY(make_directory(options.directory));
  const auto revive = [program = options.program, directory = options.directory] {
    return ensure_keeper(program, directory);
  };
  GB_TRY(revive());
  const auto service =
      GB_TRY(LocalService::open(options.directory, keeper_socket(options.directory), revive));
  e2b::E2bDoor e2b_door(*service, {.domain = options.domain});
  rest::RestOptions rest_options;
  if (options.access_log) {
    rest_options.access_log = write_log;
  }
  rest::RestDoor rest_door(*service, rest_options);
  const auto server = GB_TRY(http::Server::start(
      std::move(options.server), [&](http::Request& request, http::Response& response) {
        if (e2b_door.claims(request)) {
          e2b_door.handle(request, response);
        } else {
          rest_door.handle(request, response);
        }
      }));
  ready(server->port());
  pollfd polled{stop_fd, POLLIN, 0};
  while (::poll(&polled, 1, -1) < 0 && errno == EINTR) {
  }
  server->drain(kDrainPatience);
  return options.leave_sandboxes ? Result<void>() : stop_keeper(options.directory);
}

}  // namespace glovebox
