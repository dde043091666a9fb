// SPDX-License-Identifier: Apache-2.0
// The Connect protocol (connectrpc.com/docs/protocol), as far as E2B's clients speak it: JSON,
// without compression; calls with one answer, and with a stream of them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "doors/e2b/fields.h"
#include "doors/e2b/live_answer.h"
#include "doors/transport/http.h"

namespace glovebox::e2b {

// The content type of streams.
inline constexpr std::string_view kStreamType = "application/connect+json";

struct RpcError {
  std::string code;  // "not_found", …
  std::string message;
};
RpcError rpc_error(const Error& error);
int rpc_status(std::string_view code);

// The request of a call with one answer, which is the body.
Result<Json> read_unary(http::Request& request);
// The request of a call with a stream of answers, which is one envelope.
Result<Json> read_streaming(http::Request& request);

// The messages of a call that sends a stream of them.
class EnvelopeReader {
 public:
  explicit EnvelopeReader(http::Request& request) : request_(request) {}

  // Nothing at the end of the body.
  Result<std::optional<Json>> next();

 private:
  // False when the body ends before it is full; then `have` says how much there was.
  Result<bool> fill(std::string& bytes, std::size_t& have);

  http::Request& request_;
};

void answer_unary(http::Response& response, const Json& message);
void refuse_unary(http::Response& response, const RpcError& error);

// An envelope: flags, size, and the message.
std::string envelope(std::string_view message, bool last = false);
// The envelope that ends a stream; with an error if it failed.
std::string end_envelope(const std::optional<RpcError>& error = std::nullopt);

// Refuses a streaming call before it began: in the protocol, that too is a stream.
void refuse_streaming(http::Response& response, const RpcError& error);

// Connect-Timeout-Ms; nothing when the caller sets no limit.
Result<std::optional<std::chrono::milliseconds>> call_timeout(const http::Request& request);

// How long a silence the caller tolerates, from Keepalive-Ping-Interval.
std::chrono::milliseconds ping_interval(const http::Request& request);

// A stream of messages. Ends exactly once: by end(), fail() or abort().
class RpcStream {
 public:
  // Sends the head at once. `keepalive` goes out after `every` without a message.
  RpcStream(http::Request& request, http::Response& response, const Json& keepalive);

  // False if the caller no longer listens.
  bool send(const Json& message) { return answer_.write(envelope(to_line(message))); }
  bool idle() { return answer_.idle(); }
  void end() { answer_.finish(end_envelope()); }
  void fail(const RpcError& error) { answer_.finish(end_envelope(error)); }
  // Breaks the stream off, so that the caller asks whether the sandbox still lives.
  void abort() { answer_.abort(); }
  LiveAnswer& answer() { return answer_; }

 private:
  static http::Response& begun(http::Response& response);
  LiveAnswer answer_;
};

}  // namespace glovebox::e2b
