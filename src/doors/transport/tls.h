// SPDX-License-Identifier: Apache-2.0
// TLS 1.2 and later over a connection, by OpenSSL.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "doors/transport/channel.h"

namespace glovebox::http {

// The certificate and its key. Safe to use from several threads.
class TlsIdentity {
 public:
  // Reads PEM files. kInvalid when they do not fit together.
  static Result<std::shared_ptr<TlsIdentity>> load(const std::string& certificate_file,
                                                   const std::string& key_file);
  virtual ~TlsIdentity() = default;

  // The server's side of a connection; nothing when OpenSSL is out of memory.
  virtual std::unique_ptr<Channel> wrap(UniqueFd fd) = 0;
};

// The client's side of a connection to `host`, a name or an address, before its handshake.
// `authorities` is a PEM file; empty: the system's. kInvalid when it cannot be read.
Result<std::unique_ptr<Channel>> tls_client_channel(UniqueFd fd,
                                                    const std::string& host,
                                                    const std::string& authorities);
// Why the handshake of such a channel failed.
Error tls_failure(const Channel& channel, const std::string& where);

}  // namespace glovebox::http
