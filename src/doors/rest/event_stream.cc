// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/event_stream.h"

#include <optional>
#include <utility>

#include "spec/json/error_json.h"
#include "spec/json/verdict_json.h"

namespace glovebox::rest {

EventFormat wanted_format(const Call& call) {
  if (call.accepts("text/event-stream")) {
    return EventFormat::kServerSent;
  }
  return call.accepts("application/x-ndjson") ? EventFormat::kLines : EventFormat::kVerdict;
}

http::Headers stream_headers(EventFormat format) {
  return {{"Content-Type", format == EventFormat::kLines ? "application/x-ndjson"
                                                         : "text/event-stream; charset=utf-8"},
          {"Cache-Control", "no-store"}};
}

std::string framed(EventFormat format, std::string_view event) {
  std::string text;
  text.reserve(event.size() + 8);
  text += format == EventFormat::kLines ? "" : "data: ";
  text += event;
  text += format == EventFormat::kLines ? "\n" : "\n\n";
  return text;
}

EventStream::EventStream(Call& call, EventFormat format)
    : call_(call), format_(format), last_write_(std::chrono::steady_clock::now()) {}

bool EventStream::write(std::string_view event) {
  if (gone_) {
    return false;
  }
  if (!started_) {
    started_ = true;
    gone_ = !call_.start(200, stream_headers(format_));
  }
  gone_ = gone_ || !call_.response.write(framed(format_, event));
  last_write_ = std::chrono::steady_clock::now();
  return !gone_;
}

bool EventStream::idle() {
  gone_ = gone_ || call_.has_left();
  if (!gone_ && format_ != EventFormat::kVerdict &&
      std::chrono::steady_clock::now() - last_write_ >= kKeepalive) {
    return write(kKeepaliveEvent);
  }
  return !gone_;
}

bool EventStream::pass(std::string_view event) {
  const std::scoped_lock lock(mutex_);
  if (gone_) {
    return false;
  }
  if (event.empty()) {
    return idle();
  }
  if (format_ == EventFormat::kVerdict) {
    last_ = event;
    return true;
  }
  return write(event);
}

Result<void> EventStream::end(Result<void> outcome) {
  const std::scoped_lock lock(mutex_);
  if (gone_) {
    call_.response.abort();
    return {};
  }
  if (started_) {
    if (!outcome) {
      (void)write(failed_event(outcome.error()));
    }
    (void)call_.response.finish();
    return {};
  }
  GB_TRY(std::move(outcome));
  const std::optional<std::string> verdict = verdict_in(last_);
  if (!verdict) {
    return Error(ErrorCode::kInternal, "the execution ended without a verdict");
  }
  call_.send_json_text(200, *verdict);
  return {};
}

}  // namespace glovebox::rest
