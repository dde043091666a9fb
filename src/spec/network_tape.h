// SPDX-License-Identifier: Apache-2.0
// NetworkTape: whether the proxy of a sandbox records what is asked and answered, or answers from
// such a recording. Only a proxy reads the bytes of one (src/egress/recording.h).
//
// Values: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace glovebox {

struct NetworkTape {
  std::uint64_t room = 0;                  // Bytes that may be recorded; 0: nothing is.
  std::optional<std::string> recording{};  // Answers in place of the network, if set.

  // If so, TLS to all hosts is read.
  [[nodiscard]] bool runs() const { return room > 0 || recording.has_value(); }

  friend bool operator==(const NetworkTape&, const NetworkTape&) = default;
};

// What was recorded.
struct NetworkRecording {
  std::string bytes{};
  bool cut = false;  // There was more than room for.
};

}  // namespace glovebox
