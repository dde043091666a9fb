// SPDX-License-Identifier: Apache-2.0
// Door: a protocol that clients speak. One server has several; each request goes to the first one
// that claims it.
#pragma once

#include "doors/ports/port_host.h"
#include "doors/transport/http.h"

namespace glovebox {

// A request that has arrived, with what its Host header says, which is read once.
struct Arrival {
  explicit Arrival(http::Request& arrived)
      : request(arrived), port_host(parse_port_host(arrived.header("Host").value_or(""))) {}

  http::Request& request;
  const std::optional<PortHost> port_host;
};

// All from any thread, several at once.
class Door {
 public:
  virtual ~Door() = default;

  // Whether the request is for this door. Does not read its body, and does not block.
  [[nodiscard]] virtual bool claims(const Arrival& arrival) const = 0;
  // Whether a request that it claims goes to a server in a sandbox, which answers for itself: no
  // header of ours is added to its answer.
  [[nodiscard]] virtual bool is_for_guest(const Arrival& arrival) const = 0;
  // Answers a request that it claims. Returns when that is done, or left to the server's loop.
  virtual void handle(const Arrival& arrival, http::Response& response) = 0;
};

}  // namespace glovebox
