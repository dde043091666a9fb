// SPDX-License-Identifier: Apache-2.0
// CredentialFiller: fills the order's secrets into requests, and hides them in answers. Pure; one
// thread at a time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "doors/transport/head.h"
#include "egress/request.h"
#include "spec/egress_protocol.h"

namespace glovebox::egress {

class CredentialFiller {
 public:
  // The credentials stay the caller's.
  explicit CredentialFiller(const Credentials& credentials) : credentials_(credentials) {}

  // Whether requests to this place, a host over TLS, have to be read within TLS.
  [[nodiscard]] bool reads_tls(const Place& place) const;

  // Whether any credential is for this place over TLS (`secure`), or over plain HTTP.
  [[nodiscard]] bool has_for(const Place& place, bool secure) const;

  // Puts values for placeholders into the head's headers, also within the user and password of
  // Basic authentication, and then sets the headers that the rules set. Of these rules, only those
  // with the most specific host count. Hop-by-hop headers are gone afterwards, so that nothing that
  // was set can be removed by what a guest names in Connection. Fails if the guest wants more bytes
  // than a server would take.
  Result<void> fill(http::Head& head, const Place& place, bool secure) const;

  // Overwrites the place's values in bytes that came from it, in place. Only values that are whole
  // in `bytes` are found: holding bytes back to see whether a value follows would tell the guest,
  // by the delay, which prefixes are right. This is for servers that echo a request by mistake; a
  // server that means to give a value away can encode it.
  void hide(std::span<char> bytes, const Place& place, bool secure) const;

 private:
  const Credentials& credentials_;
};

}  // namespace glovebox::egress
