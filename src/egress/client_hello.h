// SPDX-License-Identifier: Apache-2.0
// What a TLS client says first, unencrypted: which host it asks for (RFC 8446, 4.1.2; RFC 6066, 3).
#pragma once

#include <string>
#include <string_view>

namespace glovebox::egress {

struct ClientHello {
  enum class State {
    kNone,     // This is not TLS.
    kPartial,  // It could be TLS, once more of it has arrived.
    kWhole,
    kBroken,  // It starts as TLS does, but then is invalid or ambiguous.
  };
  State state = State::kNone;
  std::string host{};  // In lower case; empty: it asks for none.
};

// Reads the first bytes of a connection: the records, and the message in them, as far as `bytes`
// has them. The caller bounds the size of `bytes`. Pure, any thread.
ClientHello read_client_hello(std::string_view bytes);

}  // namespace glovebox::egress
