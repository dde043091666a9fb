// SPDX-License-Identifier: Apache-2.0
// Inspection: a connection whose requests are read within TLS, because secrets are filled into them
// or because they are recorded. The guest speaks TLS with us, and we speak TLS with the server,
// whose certificate is checked as any client would.
//
// HTTP/1.1, one exchange after the other: a request is passed on only after the answer to the one
// before it, so that answers cannot be mixed up.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "egress/awaitable.h"
#include "egress/credentials.h"
#include "egress/request.h"
#include "egress/session.h"
#include "egress/taping.h"
#include "egress/tls.h"

namespace glovebox::egress {

// Belongs to the coroutines that work on it. One thread: that of the event loop.
class Inspection : public std::enable_shared_from_this<Inspection> {
 public:
  // One end of each connection. `sent` is what its peer has sent already.
  struct End {
    Ssl ssl;
    std::string_view sent;
  };

  // The session's sockets are connected. `tape` may be null.
  Inspection(std::shared_ptr<Session> session,
             const CredentialFiller& filler,
             Place place,
             End guest,
             End server,
             Tape* tape);

  // Carries the connection until it ends.
  static boost::asio::awaitable<void> run(std::shared_ptr<Inspection> self);

 private:
  // What the coroutine that carries answers has to know of the request that waits for one.
  struct Exchange {
    bool head_only = false;  // HEAD: the answer has no body.
    bool upgrade = false;    // It may become a WebSocket.
    bool sent = false;       // The whole request.
  };

  boost::asio::awaitable<void> carry_requests();
  boost::asio::awaitable<bool> carry_request();
  boost::asio::awaitable<bool> send_body(const Request& request);
  boost::asio::awaitable<bool> await_answer();
  static boost::asio::awaitable<void> carry_answers(std::shared_ptr<Inspection> self);
  boost::asio::awaitable<bool> carry_answer();
  boost::asio::awaitable<bool> pass_body(const http::AnswerHead& answer);
  boost::asio::awaitable<bool> pass_rest();
  boost::asio::awaitable<bool> read_guest();
  boost::asio::awaitable<bool> read_server();
  boost::asio::awaitable<bool> to_server(std::string bytes);
  boost::asio::awaitable<bool> to_guest(std::string bytes);
  void tape_end(RecordedExchange::End how);
  boost::asio::awaitable<void> refuse(int status, std::string reason);
  boost::asio::awaitable<void> drain();
  void end();

  const std::shared_ptr<Session> session_;
  const CredentialFiller& filler_;
  const Place place_;
  Tape* const tape_;
  TlsStream guest_;
  TlsStream server_;
  std::string in_;     // From the guest, decrypted and not processed yet.
  std::string early_;  // Likewise from the server.
  std::optional<Exchange> exchange_;
  std::unique_ptr<TapedExchange> taped_;  // The same exchange, if it is recorded.
  bool taping_ = false;                   // What the guest is told belongs to `taped_`.
  bool raw_ = false;                      // It is a WebSocket now.
  bool guest_gone_ = false;
  bool sending_ = false;                // A request is on its way.
  bool over_ = false;                   // No further answer comes.
  boost::asio::steady_timer answered_;  // Canceled when an exchange is over.
};

}  // namespace glovebox::egress
