// SPDX-License-Identifier: Apache-2.0
// OwnNetwork: the network namespace of a sandbox that is being born. A helper makes it on another
// processor, because that takes longer than anything else here. As in enter.cc: system calls only.
#pragma once

#include <cerrno>
#include <cstdint>

#include "sandbox/child/plan.h"
#include "sandbox/child/way_out.h"

namespace glovebox::child {

class OwnNetwork {
 public:
  // The plan must outlive this object.
  explicit OwnNetwork(const Plan& plan) noexcept : plan_(plan) {}

  // Starts the helper, which shares our memory and descriptors, and runs on the plan's stack.
  void start() noexcept;
  // Waits for it, enters the namespace, and hands out the sockets of the way out, if there is one.
  // Returns zero or a negative errno.
  long join() noexcept;

 private:
  [[noreturn]] static void make(void* self) noexcept;
  static long descriptor_of_new() noexcept;

  const Plan& plan_;
  // Written by the helper, and read when it has ended.
  long descriptor_ = -ECANCELED;
  WayOut way_out_;
  long helper_ = -ECHILD;
};

}  // namespace glovebox::child
