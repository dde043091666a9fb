// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/own_network.h"

#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>

#include "base/sys/raw.h"
#include "base/sys/spawn.h"
#include "sandbox/child/hand_out.h"

namespace glovebox::child {

using sys::raw;

void OwnNetwork::start() noexcept {
  helper_ = sys::clone_on_stack(CLONE_VM | CLONE_FILES | SIGCHLD, plan_.network_stack_top,
                                &OwnNetwork::make, this);
}

long OwnNetwork::join() noexcept {
  if (helper_ < 0) {
    return helper_;
  }
  if (const long r = raw(SYS_wait4, helper_, nullptr, 0, nullptr); r < 0) {
    return r;
  }
  if (descriptor_ < 0) {
    return descriptor_;
  }
  const long result = raw(SYS_setns, descriptor_, CLONE_NEWNET);
  (void)raw(SYS_close, descriptor_);
  return result < 0 || plan_.egress_port == 0 ? result : send_way_out();
}

// In a process of its own, with our descriptors and our power over the user namespace.
void OwnNetwork::make(void* self) noexcept {
  auto& network = *static_cast<OwnNetwork*>(self);
  network.descriptor_ = descriptor_of_new();
  if (network.descriptor_ >= 0 && network.plan_.egress_port != 0) {
    network.way_out_ = make_way_out(network.plan_.egress_port);
  }
  for (;;) {
    (void)raw(SYS_exit, 0);
  }
}

// A descriptor of the new namespace, or a negative errno.
long OwnNetwork::descriptor_of_new() noexcept {
  if (const long r = raw(SYS_unshare, CLONE_NEWNET); r < 0) {
    return r;
  }
  const long socket = raw(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return socket;
  }
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  long result = raw(SYS_ioctl, socket, SIOCSIFFLAGS, &request);
  if (result >= 0) {
    result = raw(SYS_ioctl, socket, SIOCGSKNS, 0);
  }
  (void)raw(SYS_close, socket);
  return result;
}

// They stay in the namespace that they were made in, whoever has them (network_namespaces(7)).
long OwnNetwork::send_way_out() noexcept {
  if (way_out_.listener < 0 || way_out_.names < 0) {
    return way_out_.listener < 0 ? way_out_.listener : way_out_.names;
  }
  const std::array<int, 2> sockets = {static_cast<int>(way_out_.listener),
                                      static_cast<int>(way_out_.names)};
  return hand_out(plan_.way_out_to, sockets);
}

}  // namespace glovebox::child
