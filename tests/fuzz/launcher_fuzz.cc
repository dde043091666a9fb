// SPDX-License-Identifier: Apache-2.0
// What a launcher and we say to each other: the first process of a container may say anything, and
// what decodes must say the same again once it is encoded.
#include <cstdint>
#include <string>
#include <string_view>

#include "require.h"
#include "sandbox/launcher/protocol.h"

namespace {

template <typename Message>
void decode(std::string_view bytes) {
  const auto message = Message::decode(bytes);
  if (!message) {
    require(!message.error().message().empty());
    return;
  }
  const std::string again = message.value().encode();
  const auto second = Message::decode(again);
  require(second.has_value());
  require(second.value().encode() == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  decode<glovebox::launcher::Hello>(bytes);
  decode<glovebox::launcher::Order>(bytes);
  return 0;
}
