// SPDX-License-Identifier: Apache-2.0
// What is kept of an output stream of any length: its head, its tail, and its exact size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "spec/verdict.h"

namespace glovebox {

// Memory use is bounded by the limit, however much is written.
class OutputCapture {
 public:
  // Keeps `limit` bytes: the first half from the head, the rest from the tail.
  explicit OutputCapture(Bytes limit);

  void write(std::string_view bytes);

  [[nodiscard]] std::uint64_t total() const { return total_; }

  // How many bytes of the next write() would still be within the head; a door that
  // streams passes on these and, at the end, the tail.
  [[nodiscard]] std::size_t head_room() const { return head_limit_ - head_.size(); }

  // Head and tail, with a line between them that says how many bytes are missing, when any are.
  [[nodiscard]] Captured finish() const;

 private:
  std::size_t head_limit_;
  std::size_t tail_limit_;
  std::string head_;
  std::string tail_;  // A ring once it is full; `tail_at_` is its oldest byte.
  std::size_t tail_at_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace glovebox
