// SPDX-License-Identifier: Apache-2.0
// Placement: where the thread that carries a long flow runs. If it runs on the processor of the
// guest that reads the flow, each piece is still in that processor's cache when the guest reads it,
// and causes no interrupt from one processor to another (bench/network).
#pragma once

#include <sched.h>

namespace glovebox::egress {

// Belongs to the thread that makes it; no other thread may use it.
class Placement {
 public:
  Placement();

  // Moves to the processor that handled the last packet from this TCP socket's peer, which is the
  // peer's own if both are on this machine (SO_INCOMING_CPU, socket(7)). Does nothing if that
  // processor is unknown or not among those that the thread could use at first.
  void follow(int socket);
  // Lets the kernel choose again among all processors that the thread could use at first.
  void release();

 private:
  cpu_set_t all_{};  // Empty if the kernel has more processors than this holds.
  int chosen_ = -1;
};

}  // namespace glovebox::egress
