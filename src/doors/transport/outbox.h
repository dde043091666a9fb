// SPDX-License-Identifier: Apache-2.0
// Outbox: the part of an answer that a peer has not taken yet. It lets a connection wait for a slow
// reader without a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "doors/transport/channel.h"

namespace glovebox::http {

// One thread at a time.
class Outbox {
 public:
  void add(std::string_view bytes);
  // A part of a regular file; read when it goes out.
  void add_file(UniqueFd file, std::uint64_t offset, std::uint64_t length);

  [[nodiscard]] bool empty() const { return parts_.empty(); }
  // Whether what comes next is in a file, so that writing it may wait for a disk.
  [[nodiscard]] bool needs_disk() const { return !parts_.empty() && parts_.front().file; }

  // Writes what the channel takes, and at most `most_of_files` bytes of files. `bytes` of the
  // outcome is what was written, whatever the status; kDone: all, or as much as allowed; kFailed:
  // the peer is gone, or a file has become shorter.
  Channel::Outcome flush(Channel& channel, std::uint64_t most_of_files);

 private:
  struct Part {
    std::string bytes{};
    std::size_t done = 0;  // Of `bytes`.
    UniqueFd file{};
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };

  std::deque<Part> parts_;
};

}  // namespace glovebox::http
