// SPDX-License-Identifier: Apache-2.0
#include "egress/placement.h"

#include <sys/socket.h>

namespace glovebox::egress {

Placement::Placement() {
  CPU_ZERO(&all_);
  if (::sched_getaffinity(0, sizeof(all_), &all_) != 0) {
    CPU_ZERO(&all_);
  }
}

void Placement::follow(int socket) {
  int processor = -1;
  socklen_t size = sizeof(processor);
  if (::getsockopt(socket, SOL_SOCKET, SO_INCOMING_CPU, &processor, &size) != 0 ||
      processor == chosen_ || processor < 0 || processor >= CPU_SETSIZE ||
      !CPU_ISSET(processor, &all_)) {
    return;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (::sched_setaffinity(0, sizeof(one), &one) == 0) {
    chosen_ = processor;
  }
}

void Placement::release() {
  if (chosen_ >= 0 && ::sched_setaffinity(0, sizeof(all_), &all_) == 0) {
    chosen_ = -1;
  }
}

}  // namespace glovebox::egress
