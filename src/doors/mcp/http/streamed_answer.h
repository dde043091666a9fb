// SPDX-License-Identifier: Apache-2.0
// StreamedAnswer: the response to one request over HTTP: plain JSON, or an event stream once there
// is something to say before the result.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "doors/mcp/cancellation.h"
#include "doors/mcp/http/kept_streams.h"
#include "doors/transport/http.h"

namespace glovebox::mcp {

// A message as the lines of an event, without the empty one at its end.
std::string message_event(std::string_view message);

// How an event stream is kept for a client that loses its connection.
struct Keeping {
  std::shared_ptr<KeptStreams> streams{};
  // Whether the client understands an event without data, which has an id before there is anything
  // to say (from revision 2025-11-25 on).
  bool primes = false;
};

// Safe to use from several threads, except for finish().
class StreamedAnswer {
 public:
  // `streams`: whether the client takes an event stream. `headers` go with either form. Without
  // `keeping`, what a lost connection loses is lost.
  StreamedAnswer(http::Response& response,
                 bool streams,
                 http::Headers headers,
                 std::optional<Keeping> keeping)
      : response_(response),
        streams_(streams),
        headers_(std::move(headers)),
        keeping_(std::move(keeping)) {}

  // A message before the result. Dropped if the client takes no stream.
  void tell(std::string_view message);
  // The result. `status` counts only if nothing was sent before.
  void finish(int status, std::string_view message);
  // Nobody waits for the result any more.
  void abort();
  // Ends the connection, if the client can resume the stream: it comes back for the rest.
  void release();

  // Waits until `over_fd` is readable, and sends what keeps the connection alive. Cancels when the
  // client goes away, unless `cancellation` is null. For a thread of its own.
  void watch(int gone_fd, int over_fd, Cancellation* cancellation);

 private:
  // These require the mutex.
  void start();
  void write(std::string_view piece);
  void put(std::string fields);
  void end_stream();

  http::Response& response_;
  const bool streams_;
  const http::Headers headers_;
  const std::optional<Keeping> keeping_;
  std::mutex mutex_;
  bool started_ = false;
  bool has_id_ = false;       // The client has had one.
  bool elsewhere_ = false;    // The connection is not the client's any more.
  std::uint64_t stream_ = 0;  // Among those that are kept.
};

}  // namespace glovebox::mcp
