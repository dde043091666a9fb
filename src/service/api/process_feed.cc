// SPDX-License-Identifier: Apache-2.0
#include "service/api/process_feed.h"

#include <poll.h>

namespace glovebox {
namespace {

constexpr int kTick = 1'000;  // Milliseconds.

}  // namespace

Result<void> follow(ProcessFeed& feed, const ProcessSink& sink) {
  bool silent = false;
  for (;;) {
    const ProcessEvent event = GB_TRY(feed.next());
    const bool idle = event.kind == ProcessEvent::Kind::kIdle;
    if (((!idle || silent) && !sink(event)) || event.kind == ProcessEvent::Kind::kEnded) {
      return {};
    }
    pollfd polled{feed.fd(), POLLIN, 0};
    silent = idle && ::poll(&polled, 1, kTick) == 0;
  }
}

}  // namespace glovebox
