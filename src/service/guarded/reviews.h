// SPDX-License-Identifier: Apache-2.0
// Reviews: what a second model says of a run before it counts as `ok`. The client that follows the
// run asks that model: it is told by an event "tool_call" of the tool "review".
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/api/approval_desk.h"
#include "service/api/caller.h"
#include "service/api/event_sink.h"
#include "service/api/runs.h"

namespace glovebox {

// Any thread. Nothing survives the daemon: what waited has not passed.
class Reviews {
 public:
  static constexpr std::size_t kMostWaiting = 16;         // Of a tenant.
  static constexpr std::size_t kMostShown = 256UL << 10;  // Bytes of code, and of either stream.

  explicit Reviews(std::chrono::seconds patience) : patience_(patience) {}

  // The event of a verdict as it is after the reviews that `run` demands, which are made only if
  // the verdict says `ok`. Blocks until all are answered. A review that is not answered with yes in
  // time has not passed.
  std::string reviewed(const Caller& caller,
                       const RunRequest& run,
                       const std::string& verdict_event,
                       const EventSink& sink);

  // Once. kNotFound if the tenant was never asked, or if it is over.
  Result<void> answer(const Caller& caller, std::string_view id, const ReviewReply& reply);

 private:
  struct Entry {
    std::string tenant{};
    std::optional<ReviewReply> reply{};
  };
  // Tells `event` with the id that it is given, and waits.
  ReviewReply ask(const Caller& caller,
                  const std::function<std::string(const std::string& id)>& event,
                  const EventSink& sink);

  const std::chrono::seconds patience_;
  std::mutex mutex_;  // Guards the rest.
  std::condition_variable changed_;
  std::map<std::string, Entry, std::less<>> entries_;  // By id.
};

}  // namespace glovebox
