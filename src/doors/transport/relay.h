// SPDX-License-Identifier: Apache-2.0
// Relay: a request that somebody else answers, on the client's own connection.
//
// The peer is hostile, and so is the client. What the client sends behind its request would be a
// further request to us, with its key in it: it reaches the peer only after both have agreed on
// another protocol (101). Without that, one answer goes back and the connection ends, whatever the
// peer says about keeping it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "doors/transport/channel.h"
#include "doors/transport/head.h"

namespace glovebox::http {

class Relay {
 public:
  // `in` is what the client has sent beyond the head; `body` reads the rest of the request.
  Relay(Channel& client, std::string& in, BodyDecoder& body, const Head& head, UniqueFd peer);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Passes bytes until either side has ended, or nothing has moved for so long. kUnavailable when
  // the peer's answer is none.
  Result<void> run(std::string_view first, std::chrono::milliseconds patience);

 private:
  enum class Mode { kHead, kAnswer, kTunnel };

  void take_from_client();
  void read_client();
  void read_peer();
  void write_client();
  void write_peer();
  void head_from_peer();

  Channel& client_;
  std::string& in_;
  BodyDecoder& body_;
  const Head& head_;
  UniqueFd peer_;
  Mode mode_ = Mode::kHead;
  std::string to_peer_;
  std::string to_client_;
  std::string answer_;  // The peer's head, until it is whole.
  std::size_t searched_ = 0;
  bool client_ended_ = false;
  bool peer_ended_ = false;
  bool body_ended_ = false;
  bool told_peer_ = false;
  bool failed_ = false;
  bool bad_answer_ = false;
};

}  // namespace glovebox::http
