// SPDX-License-Identifier: Apache-2.0
// PackageIndex: an index of packages that the caller serves on a Unix socket: what PEP 503 calls a
// simple repository for pip, a registry for npm.
//
// A sandbox has no network. So the socket is shown in it as a file, and a relay inside
// (agents/relay) takes connections at its own loopback and passes them on to it: pip and npm need
// no more, and nothing but this socket can be reached. The server behind the socket talks to a
// guest: requests are hostile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/sandbox.h"
#include "service/packages/package_request.h"
#include "spec/command.h"
#include "spec/mount.h"

namespace glovebox {

struct PackageIndex {
  PackageManager manager = PackageManager::kPip;
  std::string socket;  // Absolute path outside.
  friend bool operator==(const PackageIndex&, const PackageIndex&) = default;
};

// Where the relay listens, on a loopback of the sandbox's own; numbers that guests do not think of
// for their servers.
inline constexpr std::uint16_t kPipIndexPort = 18717;
inline constexpr std::uint16_t kNpmIndexPort = 18718;
// Where sandboxes see the sockets.
inline constexpr std::string_view kIndexesTarget = "/opt/glovebox/package-index";

// Reads "pip:/PATH" and "npm:/PATH", at most one of each. Fails with kInvalid for anything else,
// and if there is no socket that a guest may connect to.
Result<std::vector<PackageIndex>> parse_package_indexes(const std::vector<std::string>& texts);

// The sockets, for the spec of a sandbox.
std::vector<Mount> index_mounts(const std::vector<PackageIndex>& indexes);

// The variables that tell pip and npm about them.
Environment index_settings(const std::vector<PackageIndex>& indexes);

// Starts the relay in a sandbox that has the mounts above and that of the agents, and waits until
// it takes connections. It ends when the returned descriptor is closed. Starts nothing if there are
// no indexes. Fails with kUnsupported in a tier without a root and a loopback of its own.
Result<UniqueFd> start_index_relay(Sandbox& sandbox, const std::vector<PackageIndex>& indexes);

}  // namespace glovebox
