// SPDX-License-Identifier: Apache-2.0
// EventStream: the events of one execution, in the form that the client asked for.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "doors/rest/call.h"

namespace glovebox::rest {

// Silence after which a keepalive goes out.
inline constexpr std::chrono::milliseconds kKeepalive{5'000};
inline constexpr std::string_view kKeepaliveEvent = R"({"type":"keepalive"})";

enum class EventFormat {
  kVerdict,     // Only the last one, as a plain JSON answer.
  kLines,       // application/x-ndjson
  kServerSent,  // text/event-stream
};
EventFormat wanted_format(const Call& call);

// The beginning of an answer in one of the last two forms, and an event in it.
http::Headers stream_headers(EventFormat format);
std::string framed(EventFormat format, std::string_view event);

class EventStream {
 public:
  // The call outlives this.
  EventStream(Call& call, EventFormat format);
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // The next event, a JSON object in one line. An empty text comes while nothing happens: then a
  // keepalive may go out. False: nobody listens any more. From any thread.
  bool pass(std::string_view event);

  // Whether anything of the answer has been sent.
  [[nodiscard]] bool started() const { return started_; }

  // Takes what the service returned at the end. Answers what was not answered yet.
  Result<void> end(Result<void> outcome);

 private:
  bool write(std::string_view event);
  bool idle();

  Call& call_;
  const EventFormat format_;
  std::mutex mutex_;
  bool started_ = false;
  bool gone_ = false;
  std::string last_;
  std::chrono::steady_clock::time_point last_write_;
};

}  // namespace glovebox::rest
