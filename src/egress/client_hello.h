// SPDX-License-Identifier: Apache-2.0
// What a TLS client says first, unencrypted: which host it asks for (RFC 8446, 4.1.2; RFC 6066, 3).
#pragma once

#include <string>
#include <string_view>

namespace glovebox::egress {

struct ClientHello {
  enum class State {
    kNone,     // This is no TLS.
    kPartial,  // It could be, once there is more of it.
    kWhole,
    kBroken,  // It starts as TLS does, and then means nothing or two things.
  };
  State state = State::kNone;
  std::string host{};  // In lower case; empty: it asks for none.
};

// Reads the first bytes of a connection. Of the records and of the message in them, no more than
// what `bytes` has; whoever calls bounds that. Pure, any thread.
ClientHello read_client_hello(std::string_view bytes);

}  // namespace glovebox::egress
