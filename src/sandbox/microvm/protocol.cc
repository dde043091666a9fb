// SPDX-License-Identifier: Apache-2.0
#include "sandbox/microvm/protocol.h"

#include "base/wire.h"

namespace glovebox::microvm {

std::string Order::encode() const {
  WireWriter writer;
  for (const std::uint64_t number : {time_ns, memory, pids, disk, inodes}) {
    writer.u64(number);
  }
  writer.text(hostname);
  writer.text(seed);
  writer.texts(shown);
  return writer.take();
}

Result<Order> Order::decode(std::string_view bytes) {
  WireReader reader(bytes);
  Order order;
  for (std::uint64_t* const number :
       {&order.time_ns, &order.memory, &order.pids, &order.disk, &order.inodes}) {
    *number = reader.u64();
  }
  order.hostname = reader.text();
  order.seed = reader.text();
  order.shown = reader.texts(kMaxOrder);
  if (!reader.complete() || order.seed.size() != kSeedSize) {
    return Error(ErrorCode::kInvalid, "malformed order for a machine");
  }
  return order;
}

}  // namespace glovebox::microvm
