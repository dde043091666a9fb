// SPDX-License-Identifier: Apache-2.0
// One request and its response, as HTTP/1.1 over a connection to the engine.
//
// The engine is ours, but what is in a response may come from a guest: nothing here trusts a size.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace glovebox::embed {

struct CallRequest {
  std::string method{};
  std::string target{};
  std::vector<std::string> headers{};  // "Name: value" each.
  std::string_view body{};
  std::optional<std::chrono::milliseconds> silence{};  // Longest wait for a next byte.
  std::size_t most_body = 0;                           // Of what is kept.
  // Takes the body of a success instead of the response; false ends the call.
  std::function<bool(std::string_view)> on_piece{};
};

struct CallResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // Names in lower case.
  std::string body;
};

enum class Outcome { kWhole, kStopped };  // By on_piece.

struct Exchange {
  CallResponse response;
  Outcome outcome = Outcome::kWhole;
  bool reusable = false;  // The connection may carry another request.
};

// kInvalid for what is not a request, before anything is sent; kExhausted for a response that is
// too large; kUnavailable when the connection ends early or stays silent.
Result<Exchange> exchange(int connection, const CallRequest& request);

}  // namespace glovebox::embed
