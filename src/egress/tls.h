// SPDX-License-Identifier: Apache-2.0
// TLS towards guests and towards servers, for connections that the proxy reads. One thread: that of
// the event loop.
#pragma once

#include <openssl/types.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "egress/awaitable.h"
#include "egress/request.h"
#include "spec/egress_protocol.h"

namespace glovebox::egress {

struct SslDeleter {
  void operator()(SSL* ssl) const;
};
using Ssl = std::unique_ptr<SSL, SslDeleter>;

// The authority of the sandbox, and those that servers are checked against.
class TlsAuthority {
 public:
  // Reads everything that TLS will need, so that no file is opened later. kInvalid if a
  // certificate or the key is damaged.
  static Result<std::unique_ptr<TlsAuthority>> make(const Credentials& credentials,
                                                    const std::string& trust);
  ~TlsAuthority();
  TlsAuthority(const TlsAuthority&) = delete;
  TlsAuthority& operator=(const TlsAuthority&) = delete;

  // A server's end that speaks for this place, HTTP/1.1 only. Null if there is no memory.
  [[nodiscard]] Ssl serve(const Place& place) const;
  // A client's end, which demands a certificate for this place. Null likewise.
  [[nodiscard]] Ssl ask(const Place& place) const;

 private:
  struct Parts;
  explicit TlsAuthority(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// One end of a TLS connection over a socket, which stays the caller's. One coroutine at a time may
// read, and one may write.
class TlsStream {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  // `first`: bytes from the peer that were read already.
  TlsStream(Socket& socket, Ssl ssl, std::string_view first);
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  boost::asio::awaitable<bool> handshake();
  // Returns 0 at the end, or after a failure.
  boost::asio::awaitable<std::size_t> read(std::span<char> into);
  boost::asio::awaitable<bool> write(std::string_view bytes);
  // Says that nothing more comes.
  boost::asio::awaitable<void> finish();

  // Whether the peer said that nothing more comes; if not, what came may be incomplete.
  [[nodiscard]] bool ended() const { return ended_; }
  // Why the handshake failed, for people.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  boost::asio::awaitable<bool> feed();
  boost::asio::awaitable<bool> flush();

  Socket& socket_;
  Ssl ssl_;
  boost::asio::steady_timer turn_;  // Coroutines that want to write to the socket wait for it.
  bool writing_ = false;
  bool ended_ = false;
  std::string failure_;
};

}  // namespace glovebox::egress
