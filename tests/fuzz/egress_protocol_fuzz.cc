// SPDX-License-Identifier: Apache-2.0
// What glovebox and its proxy say to each other: what is taken means the same when it is sent
// again.
#include "spec/egress_protocol.h"

#include <cstdint>
#include <string_view>

#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox::egress;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto order = Order::decode(input)) {
    const auto again = Order::decode(order->encode());
    require(again && *again == *order);
  }
  if (const auto connection = decode_connection(input)) {
    require(connection->host.size() <= 512 && connection->reason.size() <= 512);
    const auto again = decode_connection(encode(*connection));
    require(again && *again == *connection);
  }
  return 0;
}
