// SPDX-License-Identifier: Apache-2.0
// StreamedAnswer: the response to one request over HTTP: plain JSON, or an event stream once there
// is something to say before the result.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "doors/mcp/cancellation.h"
#include "doors/transport/http.h"

namespace glovebox::mcp {

// Safe to use from several threads, but for finish().
class StreamedAnswer {
 public:
  // `streams`: whether the client takes an event stream. `headers` go with either form.
  StreamedAnswer(http::Response& response, bool streams, http::Headers headers)
      : response_(response), streams_(streams), headers_(std::move(headers)) {}

  // A message before the result. Dropped where the client takes no stream.
  void tell(std::string_view message);
  // The result. `status` counts where nothing was sent before.
  void finish(int status, std::string_view message);
  // Nobody waits for the result any more.
  void abort() { response_.abort(); }

  // Waits until `over_fd` is readable, and sends what keeps the connection alive. Cancels when the
  // client goes away, unless `cancellation` is null. For a thread of its own.
  void watch(int gone_fd, int over_fd, Cancellation* cancellation);

 private:
  void write(std::string_view piece);

  http::Response& response_;
  const bool streams_;
  const http::Headers headers_;
  std::mutex mutex_;
  bool started_ = false;
};

}  // namespace glovebox::mcp
