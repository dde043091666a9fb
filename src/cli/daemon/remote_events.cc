// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/remote_events.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "cli/command.h"
#include "context/notebook/values.h"

namespace glovebox::cli {
namespace {

MimeBundle bundle_in(const Json& said) {
  MimeBundle bundle;
  if (const auto data = said.find("data"); data != said.end() && data->is_object()) {
    for (const auto& [mime, value] : data->items()) {
      bundle[mime] = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }
  return bundle;
}

int small_in(const Json& said, const char* name) {
  return static_cast<int>(
      std::clamp<std::int64_t>(number_in(said, name), 0, std::numeric_limits<int>::max()));
}

}  // namespace

std::optional<Event> to_event(const Json& said) {
  const std::string type = text_in(said, "type");
  Event event;
  if (type == "stdout" || type == "stderr") {
    event.kind = type == "stdout" ? Event::Kind::kStdout : Event::Kind::kStderr;
    event.text = bytes_in(said);
  } else if (type == "result") {
    event.kind = flag_in(said, "main") ? Event::Kind::kResult : Event::Kind::kDisplay;
    event.data = bundle_in(said);
    event.execution_count = small_in(said, "execution_count");
  } else if (type == "error") {
    event.kind = Event::Kind::kError;
    event.error = {.name = text_in(said, "name"),
                   .value = text_in(said, "value"),
                   .traceback = text_in(said, "traceback")};
  } else {
    return std::nullopt;
  }
  return event;
}

std::string bytes_in(const Json& said) {
  if (const std::string encoded = text_in(said, "base64"); !encoded.empty()) {
    // Encoded as the values of pictures are, so their decoder does it.
    constexpr const char* kBinary = "image/png";
    const MimeBundle bundle{{kBinary, Json(encoded).dump()}};
    if (auto bytes = notebook::bytes_of(bundle, kBinary)) {
      return *std::move(bytes);
    }
  }
  return text_in(said, "text");
}

int exit_status_in(const Json& verdict) {
  const std::string status = text_in(verdict, "status");
  if (status == "timeout") {
    return kExitTimeout;
  }
  if (status == "out_of_memory") {
    return kExitOutOfMemory;
  }
  if (status == "refused") {
    return kExitRefused;
  }
  if (status == "failed" || status.empty()) {
    return kExitFailed;
  }
  const int code = small_in(verdict, "exit_code") & 0xff;
  return code == 0 && status != "ok" ? 1 : code;
}

std::string describe_end(const Json& verdict) {
  const std::string status = text_in(verdict, "status");
  if (status == "ok" || status == "error" || status == "compile_error") {
    return {};
  }
  const std::string limit = text_in(verdict, "limit");
  std::string text = "ended: " + printable(status.empty() ? "without a verdict" : status);
  if (!limit.empty()) {
    text += " (" + printable(limit) + " limit)";
  }
  return text;
}

Error error_in(const Json& said) {
  const std::int64_t code = number_in(said, "code");
  const std::string message = text_in(said, "message");
  return {code == 404 || code == 410  ? ErrorCode::kNotFound
          : code == 403               ? ErrorCode::kRefused
          : code >= 400 && code < 500 ? ErrorCode::kInvalid
                                      : ErrorCode::kUnavailable,
          message.empty() ? "the daemon could not complete the request" : message,
          text_in(said, "hint")};
}

}  // namespace glovebox::cli
