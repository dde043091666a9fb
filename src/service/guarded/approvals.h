// SPDX-License-Identifier: Apache-2.0
// Approvals: what waits until a person agrees to it, because a policy asks for one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/api/approval_desk.h"
#include "service/api/caller.h"

namespace glovebox {

// Any thread. Nothing survives the daemon: what waited is refused with it, and was not run. The
// exception is a tool call: the next daemon asks about it again (call_gate.h).
class Approvals {
 public:
  static constexpr std::size_t kMaxShownCode = 64UL * 1024;
  static constexpr std::size_t kMostWaiting = 16;        // Of a tenant.
  static constexpr std::size_t kMostRemembered = 1'000;  // Of all tenants.
  static constexpr std::size_t kMostDecided = 256;       // That are still known to be decided.

  explicit Approvals(std::chrono::seconds patience) : patience_(patience) {}

  // Waits until somebody decides; `id`, `asked` and `expires` are filled in here. `told` gets the
  // question once, and then nullptr about once a second; if it returns false, nobody wants the
  // answer any more and the wait ends. kRefused unless a person agrees in time; kExhausted if too
  // many questions of the tenant wait already.
  Result<void> wait(Approval what, const std::function<bool(const Approval*)>& told);

  // What waits, the oldest first.
  [[nodiscard]] std::vector<Approval> waiting(std::string_view tenant) const;

  // Decides, once. kNotFound if the tenant was never asked this; kConflict if it is decided or
  // over, or if the reply was made about something else.
  Result<void> decide(const Caller& caller, std::string_view id, const ApprovalReply& reply);

 private:
  enum class State { kWaiting, kAgreed, kRefused };
  struct Entry {
    Approval approval{};
    State state = State::kWaiting;
  };

  void forget(std::map<std::string, Entry>::iterator entry);

  const std::chrono::seconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Entry> entries_;                      // By id.
  std::set<std::pair<std::string, std::string>> remembered_;  // Tenant and hash.
  std::deque<std::pair<std::string, std::string>> decided_;   // Tenant and id, the newest last.
};

}  // namespace glovebox
