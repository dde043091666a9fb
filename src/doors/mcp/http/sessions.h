// SPDX-License-Identifier: Apache-2.0
// Sessions: the conversations of clients that speak a revision with `initialize`.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "doors/mcp/conversation.h"
#include "service/caller.h"

namespace glovebox::mcp {

// Safe to use from several threads.
class Sessions {
 public:
  static constexpr std::size_t kMost = 4'096;
  static constexpr std::size_t kMostOfTenant = 256;
  static constexpr std::chrono::hours kIdle{1};

  // Returns the id of a new one, which nobody can guess. The one that was idle for longest goes
  // when its tenant, or this machine, has too many.
  std::string add(const Caller& caller, std::shared_ptr<Conversation> conversation);
  // Null when it is over, or belongs to somebody else.
  std::shared_ptr<Conversation> find(const Caller& caller, std::string_view id);
  // Takes it away; null as above.
  std::shared_ptr<Conversation> remove(const Caller& caller, std::string_view id);

 private:
  using Clock = std::chrono::steady_clock;
  struct Session {
    std::string tenant;
    std::string key;  // The id of the key that began it.
    std::shared_ptr<Conversation> conversation;
    Clock::time_point used;
  };
  using ById = std::map<std::string, Session, std::less<>>;
  // These require the mutex.
  void drop_idle();
  void make_room(const std::string& tenant);
  ById::iterator find_own(const Caller& caller, std::string_view id);

  std::mutex mutex_;
  ById sessions_;
};

}  // namespace glovebox::mcp
