// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/own_network.h"

#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/sys/raw.h"
#include "base/sys/spawn.h"

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
  return result < 0 || plan_.egress_port == 0 ? result : hand_out(way_out_, plan_.way_out_to);
}

// Runs in a process of its own, with our descriptors and our power over the user namespace.
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
  const long socket = raise_loopback();
  if (socket < 0) {
    return socket;
  }
  const long result = raw(SYS_ioctl, socket, SIOCGSKNS, 0);
  (void)raw(SYS_close, socket);
  return result;
}

}  // namespace glovebox::child
