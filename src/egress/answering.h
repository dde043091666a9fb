// SPDX-License-Identifier: Apache-2.0
// Answering: a guest's connection to a place, answered from a recording. None of it leaves this
// process: the recording is the server.
//
// A request that the recording has no answer to is refused, and the connection's record says so
// under the rule kRecordingRule.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "egress/awaitable.h"
#include "egress/dialing.h"
#include "egress/playback.h"
#include "egress/request.h"
#include "egress/session.h"
#include "egress/tls.h"

namespace glovebox::egress {

// Repeats how connecting to the place went when it was recorded, and fills in the record.
Dialed open_recorded(Playback& playback, const Place& place, ConnectionRecord& record);

// Belongs to the coroutine that works on it. One thread: that of the event loop.
class Answering {
 public:
  // The session, which runs this, and the playback outlive it.
  Answering(Session& session, Playback& playback, Place place)
      : session_(session), playback_(playback), place_(std::move(place)) {}

  // One request whose head was read already.
  boost::asio::awaitable<void> answer_request(const http::Head& head);
  // Whatever the guest says there: requests within TLS, or bytes that are not read as requests.
  boost::asio::awaitable<void> answer_tunnel();

 private:
  boost::asio::awaitable<void> answer_secure(Ssl ssl);
  boost::asio::awaitable<void> answer_connection();
  boost::asio::awaitable<bool> answer_next();
  boost::asio::awaitable<bool> exchange(const http::Head& head);
  boost::asio::awaitable<bool> hear(const RecordedTurn& turn);
  boost::asio::awaitable<bool> read();
  boost::asio::awaitable<bool> write(std::string_view bytes);
  boost::asio::awaitable<void> refuse(int status, std::string reason);
  boost::asio::awaitable<bool> finish();
  void note(std::string reason);
  void reset();

  Session& session_;
  Playback& playback_;
  const Place place_;
  std::optional<TlsStream> guest_;  // If it speaks TLS.
  std::string in_;                  // From the guest, decrypted and not processed yet.
};

}  // namespace glovebox::egress
