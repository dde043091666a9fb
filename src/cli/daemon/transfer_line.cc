// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/transfer_line.h"

#include <unistd.h>

#include <string>

#include "base/bytes.h"
#include "cli/output_writer.h"

namespace glovebox::cli {
namespace {

// A shorter transfer needs no line, and nobody can read one that changes more often.
constexpr std::chrono::milliseconds kEvery{200};

}  // namespace

void TransferLine::add(std::uint64_t bytes) {
  had_ += bytes;
  const auto now = Clock::now();
  if (!enabled_ || now - last_ < kEvery) {
    return;
  }
  last_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string text = to_string(Bytes{had_});
  if (whole_ > 0) {
    text += " of " + to_string(Bytes{whole_});
  }
  text += ", " + to_string(Bytes{static_cast<std::uint64_t>(static_cast<double>(had_) / seconds)});
  write_fully(STDERR_FILENO, "\r\x1b[2m" + text + "/s\x1b[0m\x1b[K");
}

void TransferLine::end() {
  if (shown_) {
    write_fully(STDERR_FILENO, "\r\x1b[K");
    shown_ = false;
  }
}

}  // namespace glovebox::cli
