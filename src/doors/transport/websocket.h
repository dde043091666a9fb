// SPDX-License-Identifier: Apache-2.0
// WebSockets (RFC 6455) on a connection of ours, by Beast.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/transport/channel.h"
#include "doors/transport/head.h"
#include "doors/transport/http.h"

namespace boost::asio {
class io_context;
}

namespace glovebox::http {

// Larger messages end the connection with status 1009.
inline constexpr std::size_t kMaxMessage = 16UL << 20;

// Answers the handshake `head` and takes over the connection; `in` is what came after the head. The
// one thread that runs `io` does the work. `held` is let go with the connection. Silent peers are
// pinged, and cut off if they stay silent.
Result<std::unique_ptr<WebSocket>> accept_websocket(boost::asio::io_context& io,
                                                    std::unique_ptr<Channel> channel,
                                                    std::string in,
                                                    const Head& head,
                                                    std::string_view protocol,
                                                    std::shared_ptr<void> held);

// Opens a WebSocket at `target`, as a client. kNotFound, kRefused or kUnavailable, depending on the
// status with which the server refuses. `io` outlives the WebSocket.
Result<std::unique_ptr<WebSocket>> connect_websocket(boost::asio::io_context& io,
                                                     std::unique_ptr<Channel> channel,
                                                     std::string_view host,
                                                     std::string_view target,
                                                     const Headers& headers);

}  // namespace glovebox::http
