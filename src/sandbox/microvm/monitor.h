// SPDX-License-Identifier: Apache-2.0
// Our end of QEMU's monitor (docs/interop/qmp-spec of QEMU). A guest that has taken over QEMU can
// say anything here, but to a program that is behind the same walls.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace glovebox::microvm {

// All calls wait as long as QEMU takes, and return false when it ends, refuses or speaks nonsense.
class Monitor {
 public:
  explicit Monitor(UniqueFd socket) : socket_(std::move(socket)) {}

  // Must come first.
  bool greet();
  // `arguments` is the text of a JSON object.
  bool execute(std::string_view command, std::string_view arguments = "{}");
  // Waits for an event in which this text appears; earlier ones are lost.
  bool await(std::string_view event, std::string_view text);
  // Whether what it says next is such an event; nothing at its end.
  std::optional<bool> next_is(std::string_view event, std::string_view text);

  // For poll(2): readable when it says something. Ours.
  [[nodiscard]] int socket() const { return socket_.get(); }

 private:
  bool next_line();

  UniqueFd socket_;
  std::string line_;
  std::string rest_;  // What was read after the line.
};

}  // namespace glovebox::microvm
