// SPDX-License-Identifier: Apache-2.0
// Client: asks a server of ours, over a Unix socket, TCP or TLS. Blocks; for one thread.
//
// What the server says is bounded like what a client says: heads, lengths, and the time that it may
// be silent. Redirections are not followed: a key goes to the address that was named, or nowhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/transport/channel.h"
#include "doors/transport/connect.h"
#include "doors/transport/head.h"
#include "doors/transport/http.h"

namespace glovebox::http {

struct ClientOptions {
  ServerAddress server{};
  // Sent as X-API-KEY; empty: none.
  std::string key{};
  // PEM file of the authorities to trust, for TLS; empty: the system's.
  std::string authorities{};
  std::chrono::milliseconds connect_patience{10'000};
  // Without a byte from the server. Streams of ours say something every few seconds.
  std::chrono::milliseconds patience{600'000};
};

// An answer whose body is read piece by piece. Not to be used longer than its client.
class ClientAnswer {
 public:
  ClientAnswer(Head head, int status, std::unique_ptr<Channel> channel, std::string rest);
  ClientAnswer(const ClientAnswer&) = delete;
  ClientAnswer& operator=(const ClientAnswer&) = delete;
  ~ClientAnswer();

  [[nodiscard]] int status() const { return status_; }
  // The first value; the case of names is ignored.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint64_t> content_length() const { return head_.content_length; }

  // The next piece; 0 at the end. kUnavailable when the server is gone or silent, so that a body
  // that was cut off is never taken for a whole one.
  Result<std::size_t> read(std::span<char> into);
  // kExhausted when there is more than `most`.
  Result<std::string> read_all(std::size_t most);

  // Waits until read() has something, or until `other` is readable (-1: nothing else).
  enum class Ready { kBody, kOther, kNothing };
  Ready await(int other, std::chrono::milliseconds patience);

 private:
  friend class Client;
  Result<bool> fill();

  Head head_;
  int status_;
  BodyDecoder body_;
  std::unique_ptr<Channel> channel_;
  std::string in_;     // As it came.
  std::string ahead_;  // Bytes of the body that await() has found.
  std::chrono::milliseconds patience_{};
  // Where the connection goes for the next request, once this answer is read to its end.
  std::function<void(std::unique_ptr<Channel>)> give_back_;
};

class Client {
 public:
  // The next piece of a body; 0 at its end.
  using BodySource = std::function<Result<std::size_t>(std::span<char> into)>;

  // Connects with the first request.
  explicit Client(ClientOptions options);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  // `target` is a path with its query, encoded. The answer may have any status.
  Result<std::unique_ptr<ClientAnswer>> send(std::string_view method,
                                             std::string_view target,
                                             const Headers& headers = {},
                                             std::string_view body = {});
  // With a body of any length. The server may answer before it has all of it.
  Result<std::unique_ptr<ClientAnswer>> send_stream(std::string_view method,
                                                    std::string_view target,
                                                    const Headers& headers,
                                                    const BodySource& body);
  // Its close() and its destructor end the connection. May live longer than the client.
  Result<std::unique_ptr<WebSocket>> open_websocket(std::string_view target);

 private:
  struct Kept;
  Result<std::unique_ptr<Channel>> connect();
  std::string head_of(std::string_view method,
                      std::string_view target,
                      const Headers& headers) const;
  Result<std::unique_ptr<ClientAnswer>> read_answer(std::unique_ptr<Channel> channel,
                                                    std::string in,
                                                    bool without_body);

  const ClientOptions options_;
  std::shared_ptr<Kept> kept_;
};

}  // namespace glovebox::http
