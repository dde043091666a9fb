// SPDX-License-Identifier: Apache-2.0
#include "sandbox/output.h"

#include <algorithm>

namespace glovebox {

OutputCapture::OutputCapture(Bytes limit)
    : head_limit_(static_cast<std::size_t>(limit.count - limit.count / 2)),
      tail_limit_(static_cast<std::size_t>(limit.count / 2)) {}

void OutputCapture::write(std::string_view bytes) {
  total_ += bytes.size();
  const std::size_t to_head = std::min(bytes.size(), head_room());
  head_.append(bytes.substr(0, to_head));
  bytes.remove_prefix(to_head);
  if (bytes.size() > tail_limit_) {
    bytes.remove_prefix(bytes.size() - tail_limit_);
  }
  const std::size_t grow = std::min(bytes.size(), tail_limit_ - tail_.size());
  if (grow > 0) {
    tail_.append(bytes.substr(0, grow));
    bytes.remove_prefix(grow);
  }
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), tail_.size() - tail_at_);
    std::copy_n(bytes.data(), piece, tail_.begin() + static_cast<std::ptrdiff_t>(tail_at_));
    tail_at_ = (tail_at_ + piece) % tail_.size();
    bytes.remove_prefix(piece);
  }
}

Captured OutputCapture::finish() const {
  Captured captured{.bytes = head_, .total = total_, .truncated = false};
  const std::uint64_t missing = total_ - head_.size() - tail_.size();
  if (missing > 0) {
    captured.truncated = true;
    captured.bytes += "\n[glovebox: " + std::to_string(missing) + " bytes not kept]\n";
  }
  captured.bytes.append(tail_, tail_at_);
  captured.bytes.append(tail_, 0, tail_at_);
  return captured;
}

}  // namespace glovebox
