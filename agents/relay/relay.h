// SPDX-License-Identifier: Apache-2.0
// Relay: carries TCP connections of a sandbox's own loopback to a Unix socket.
//
// pip and npm talk to an index over TCP only, and a sandbox has no network; the socket of an index
// that the caller allows appears in the sandbox as a file. One thread, everything bounded: a guest
// may connect as often as it likes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox::relay {

class Relay {
 public:
  // Accepts connections at 127.0.0.1:`port` for `socket`, a path. False: errno says why.
  bool listen(std::uint16_t port, std::string socket);

  // Runs until `link` hangs up.
  void run(int link);

 private:
  struct Listener {
    UniqueFd fd;
    std::string socket;
  };
  // One end of a connection, and what is on its way to it.
  struct End {
    UniqueFd fd;  // -1: an index that did not answer.
    std::string unsent{};
    bool read_all = false;  // It will send nothing more.
    bool told_all = false;  // It has been told that the other end will send nothing more.
  };
  struct Connection {
    std::array<End, 2> ends;
    bool lost = false;
  };

  void accept_from(const Listener& listener);
  static void receive(Connection& connection, std::size_t from);
  static void send(Connection& connection, std::size_t to);

  std::vector<Listener> listeners_;
  std::vector<Connection> connections_;
};

}  // namespace glovebox::relay
