// SPDX-License-Identifier: Apache-2.0
// Placement: where the thread that carries a long flow runs. On the processor of the guest that
// reads it, what arrives is still in that processor's cache, and no interrupt goes from one
// processor to another for each piece (bench/network).
#pragma once

#include <sched.h>

namespace glovebox::egress {

// Of the thread that makes it, which alone may use it.
class Placement {
 public:
  Placement();

  // Moves to the processor that handled the last packet from this TCP socket's peer, which is the
  // peer's own where both are on this machine (SO_INCOMING_CPU, socket(7)). Does nothing where that
  // is unknown or not among the processors that the thread had at first.
  void follow(int socket);
  // Lets the kernel choose again among all that the thread had at first.
  void release();

 private:
  cpu_set_t all_{};  // Empty where the kernel has more processors than this holds.
  int chosen_ = -1;
};

}  // namespace glovebox::egress
