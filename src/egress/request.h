// SPDX-License-Identifier: Apache-2.0
// What a guest asks the proxy for, read so that it can mean one thing only. All of it is hostile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "doors/transport/head.h"
#include "spec/egress_protocol.h"
#include "spec/ip_address.h"

namespace glovebox::egress {

// A place as a guest names it. Values: any thread.
struct Place {
  std::string host;                    // In lower case: a host name, or an address in its one form.
  std::optional<IpAddress> address{};  // If the host is one.
  std::uint16_t port = 0;

  // "example.com:443", "[2001:db8::1]:443".
  [[nodiscard]] std::string to_text() const;
  // The same, but without the port if it is `usual_port`, as in a Host header.
  [[nodiscard]] std::string to_authority(std::uint16_t usual_port) const;
};

// HOST, HOST:PORT, [IPv6] or [IPv6]:PORT. Nothing for anything else: user information, other
// spellings of addresses, IPv4 within IPv6, zones, a dot at the end, a port of 0. A missing port is
// `port`; if that is 0, the text must have a port.
std::optional<Place> parse_place(std::string_view text, std::uint16_t port);

struct Request {
  bool connect = false;  // A tunnel; else one HTTP request with its answer.
  bool secure = false;   // It came within TLS.
  Place place{};
  http::Head head{};
};

// Reads a head that is whole (http::end_of_head()). The Host header, which CONNECT may lack, must
// name the same place as the target.
std::variant<Request, http::BadRequest> parse_request(std::string_view bytes);

// Reads the head of a request that was sent to a server at `place`, or so its sender believes. The
// Host header must name that place. `secure`: it came within TLS.
std::variant<Request, http::BadRequest> parse_request_at(const Place& place,
                                                         std::string_view bytes,
                                                         bool secure = false);

// The head with which the request is passed on to its server or, in the form for another proxy, to
// `upstream`: written anew from what was read, without anything that was for us, with the framing
// of the body as frame_piece() writes it, and asking the server to close the connection.
std::string onward_head(const Request& request, const Upstream* upstream);

// As onward_head(), for a server to which the connection stays open. An upgrade to WebSocket is
// passed on.
std::string kept_head(const Request& request);

// Removes the headers that concern one connection only (RFC 9110, 7.6.1), and those that repeat
// what the members of `head` say.
void drop_hop_by_hop(http::Head& head);

// The head that asks another proxy for a tunnel.
std::string tunnel_head(const Place& place, const Upstream& upstream);

// A piece of a body, framed as onward_head() announced it. Empty: its end.
std::string frame_piece(const Request& request, std::string_view piece);

}  // namespace glovebox::egress
