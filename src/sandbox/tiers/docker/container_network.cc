// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/container_network.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <sys/stat.h>

#include <memory>
#include <thread>

#include "base/unique_fd.h"
#include "sandbox/child/way_out.h"

namespace glovebox::docker {
namespace {

// Of the calling thread; zero if it cannot be found out.
ino_t network_namespace() {
  struct stat status {};
  return ::stat("/proc/thread-self/ns/net", &status) == 0 ? status.st_ino : 0;
}

bool has_loopback_alone() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    return false;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if ((each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0) {
      return false;
    }
  }
  return true;
}

// Runs in a thread that does nothing else and then ends.
Result<WayOut> enter_and_make(int pidfd, std::uint16_t port) {
  const ino_t own = network_namespace();
  if (::setns(pidfd, CLONE_NEWNET) != 0) {
    return Error::from_errno("enter the network of the container");
  }
  if (own == 0 || network_namespace() == own || !has_loopback_alone()) {
    return Error(ErrorCode::kUnsupported,
                 "the container engine gave the container a network that was not asked for",
                 "use the native tier, or leave out the network rules");
  }
  const UniqueFd raised(static_cast<int>(child::raise_loopback()));
  const child::WayOut made = child::make_way_out(port);
  WayOut out{.listener = UniqueFd(static_cast<int>(made.listener)),
             .names = UniqueFd(static_cast<int>(made.names))};
  if (!raised || !out.listener || !out.names) {
    return Error(ErrorCode::kUnavailable, "the network of the container has no room for a proxy");
  }
  return out;
}

}  // namespace

Result<WayOut> way_out_of(int pidfd, std::uint16_t port) {
  Result<WayOut> made = Error(ErrorCode::kInternal, "nothing was made");
  std::thread([&] { made = enter_and_make(pidfd, port); }).join();
  return made;
}

}  // namespace glovebox::docker
