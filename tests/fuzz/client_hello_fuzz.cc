// SPDX-License-Identifier: Apache-2.0
// The first bytes of a TLS client: once they mean something, further ones do not change it.
#include "egress/client_hello.h"

#include <cstdint>
#include <string_view>

#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using glovebox::egress::ClientHello;
  using glovebox::egress::read_client_hello;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const ClientHello whole = read_client_hello(input);
  require(whole.state == ClientHello::State::kWhole || whole.host.empty());
  require(whole.host.size() <= size);
  bool decided = false;
  for (std::size_t at = 0; at <= size; at += 1 + size / 64) {
    const ClientHello part = read_client_hello(input.substr(0, at));
    if (part.state != ClientHello::State::kPartial) {
      decided = true;
      require(part.state == whole.state && part.host == whole.host);
    }
    require(!decided || part.state != ClientHello::State::kPartial);
  }
  return 0;
}
