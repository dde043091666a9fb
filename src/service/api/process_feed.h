// SPDX-License-Identifier: Apache-2.0
// ProcessFeed: what a process says, for callers that cannot spend a thread on waiting for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "spec/verdict.h"

namespace glovebox {

struct ProcessEvent {
  enum class Kind {
    kStarted,
    kStdout,
    kStderr,
    kTerminal,
    kEnded,
    kIdle,  // Nothing has come.
  };
  Kind kind = Kind::kStdout;
  std::uint32_t pid = 0;
  std::string bytes{};
  int exit_code = 0;
  std::optional<int> signal{};
  Status reason = Status::kOk;  // Of an end.
  std::string dry_run{};        // Likewise: what a dry run has changed, as JSON; else empty.
};

// One thread at a time.
class ProcessFeed {
 public:
  virtual ~ProcessFeed() = default;
  // Readable when next() may have something; always the same descriptor. Do not read from it.
  [[nodiscard]] virtual int fd() const = 0;
  // What the process said next: kStarted first, kEnded last; kIdle when there is nothing now. Never
  // waits. Fails when nothing more comes: kUnavailable when the sandbox has ended, kRefused once
  // the caller's key is no longer valid.
  virtual Result<ProcessEvent> next() = 0;
};

// Returns false if nobody listens any more.
using ProcessSink = std::function<bool(const ProcessEvent&)>;

// Waits in this thread for each event until the last one, or until the sink says no. The sink gets
// kIdle once a second while nothing comes. Fails as next() does.
Result<void> follow(ProcessFeed& feed, const ProcessSink& sink);

}  // namespace glovebox
