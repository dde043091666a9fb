// SPDX-License-Identifier: Apache-2.0
// Recorder: what the proxy tells glovebox about connections, over their socket.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <string>

#include "spec/connection_record.h"
#include "spec/egress_protocol.h"

namespace glovebox::egress {

// One thread: that of the event loop, which must not end before this object.
class Recorder {
 public:
  // `closed` is called once, when glovebox has shut down its end or is gone.
  Recorder(boost::asio::io_context& loop, int fd, std::function<void()> closed);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void ready();
  void tell(const ConnectionRecord& connection);
  void keep(std::string_view recorded);  // Bytes of a recording.
  void cut();                            // What follows is not in the recording.

  // So much is unsent that no new connection should be accepted.
  [[nodiscard]] bool full() const;

 private:
  void add(Message message, std::string_view payload);
  void send();
  void listen();

  boost::asio::local::stream_protocol::socket socket_;
  std::function<void()> closed_;
  std::string unsent_;
  std::string sending_;
  char ignored_ = 0;
  bool broken_ = false;
};

}  // namespace glovebox::egress
