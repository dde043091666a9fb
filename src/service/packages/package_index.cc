// SPDX-License-Identifier: Apache-2.0
#include "service/packages/package_index.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "context/agent_files.h"

namespace glovebox {
namespace {

// For a static program to start, on a busy machine.
constexpr int kPatienceMs = 10'000;

int port_of(PackageManager manager) {
  return manager == PackageManager::kPip ? kPipIndexPort : kNpmIndexPort;
}

std::string target_of(PackageManager manager) {
  return std::string(kIndexesTarget) + "/" + std::string(to_string(manager)) + ".sock";
}

std::string address_of(PackageManager manager) {
  return "http://127.0.0.1:" + std::to_string(port_of(manager)) + "/";
}

Result<PackageIndex> parse_one(const std::string& text) {
  const auto wrong = [&text](const std::string& why, const char* hint) {
    return Error(ErrorCode::kInvalid, "package index '" + printable(text) + "': " + why, hint);
  };
  PackageIndex index;
  if (text.starts_with("npm:")) {
    index.manager = PackageManager::kNpm;
  } else if (!text.starts_with("pip:")) {
    return wrong("missing 'pip:' or 'npm:' prefix", "use pip:SOCKET or npm:SOCKET");
  }
  index.socket = text.substr(4);
  if (!index.socket.starts_with('/')) {
    return wrong("not an absolute path", "for example: pip:/run/index.sock");
  }
  // The relay sees it by a short path; a longer one outside could not have been bound at all.
  struct stat status {};
  if (::stat(index.socket.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) {
    return wrong("not a Unix socket", "start the index first, listening on this path");
  }
  // If we are root, the guest is another user.
  if (::geteuid() == 0 && (status.st_mode & S_IWOTH) == 0) {
    return wrong("guests are not permitted to connect to it", "run 'chmod 0666 SOCKET'");
  }
  return index;
}

}  // namespace

Result<std::vector<PackageIndex>> parse_package_indexes(const std::vector<std::string>& texts) {
  std::vector<PackageIndex> indexes;
  for (const std::string& text : texts) {
    PackageIndex index = GB_TRY(parse_one(text));
    if (std::ranges::find(indexes, index.manager, &PackageIndex::manager) != indexes.end()) {
      return Error(ErrorCode::kInvalid,
                   "two indexes were given for " + std::string(to_string(index.manager)),
                   "pass one index, and put other packages in a --package-source directory");
    }
    indexes.push_back(std::move(index));
  }
  return indexes;
}

std::vector<Mount> index_mounts(const std::vector<PackageIndex>& indexes) {
  std::vector<Mount> mounts;
  for (const PackageIndex& index : indexes) {
    mounts.push_back({.source = index.socket, .target = target_of(index.manager)});
  }
  return mounts;
}

Environment index_settings(const std::vector<PackageIndex>& indexes) {
  Environment settings;
  for (const PackageIndex& index : indexes) {
    const std::string address = address_of(index.manager);
    if (index.manager == PackageManager::kPip) {
      settings.insert(settings.end(),
                      {{"PIP_INDEX_URL", address + "simple/"}, {"PIP_NO_INDEX", "0"}});
      continue;
    }
    settings.insert(settings.end(), {{"npm_config_registry", address},
                                     // Registries that mirror another name that one's archives.
                                     {"npm_config_replace_registry_host", "always"},
                                     {"npm_config_audit", "false"},
                                     {"npm_config_fund", "false"},
                                     {"npm_config_update_notifier", "false"}});
  }
  return settings;
}

Result<UniqueFd> start_index_relay(Sandbox& sandbox, const std::vector<PackageIndex>& indexes) {
  if (indexes.empty()) {
    return UniqueFd();
  }
  if (!sandbox.features().own_root || !sandbox.features().loopback_network) {
    return Error(ErrorCode::kUnsupported,
                 "tier " + std::string(sandbox.tier()) +
                     " has no private loopback interface, which a package index requires",
                 "use --package-source, or --tier native");
  }
  Command command{.argv = {std::string(kAgentsTarget) + "/relay/glovebox-relay"},
                  .env = {},
                  .cwd = {}};
  for (const PackageIndex& index : indexes) {
    command.argv.push_back(std::to_string(port_of(index.manager)));
    command.argv.push_back(target_of(index.manager));
  }
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  UniqueFd ours(pair[0]);
  UniqueFd theirs(pair[1]);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) {
    return Error::from_errno("open /dev/null");
  }
  const RunOptions options{.limits = sandbox.limits(), .kill_rest = false};
  (void)GB_TRY(sandbox.start_detached(command, options, {null.get(), null.get(), theirs.get()}));
  theirs.reset();
  pollfd polled{ours.get(), POLLIN, 0};
  char ready = 0;
  if (::poll(&polled, 1, kPatienceMs) <= 0 || ::recv(ours.get(), &ready, 1, MSG_DONTWAIT) != 1) {
    return Error(ErrorCode::kUnavailable, "the relay to the package index did not start",
                 "raise --memory or --pids");
  }
  return ours;
}

}  // namespace glovebox
