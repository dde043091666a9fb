// SPDX-License-Identifier: Apache-2.0
// RequestState: what a stateless server gives a client to bring back with its next request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glovebox::mcp {

// Signed with a key of this process (HMAC with SHA-256). The client can read it, but cannot change
// it. Any thread.
class RequestState {
 public:
  RequestState();

  [[nodiscard]] std::string sign(std::string_view state) const;
  // Nothing for what sign() did not make.
  [[nodiscard]] std::optional<std::string> open(std::string_view text) const;

 private:
  [[nodiscard]] std::string mac(std::string_view state) const;

  std::string key_;
};

}  // namespace glovebox::mcp
