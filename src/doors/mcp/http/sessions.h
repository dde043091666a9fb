// SPDX-License-Identifier: Apache-2.0
// Sessions: the conversations of clients that speak a revision with `initialize`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "doors/mcp/conversation.h"
#include "doors/mcp/http/kept_streams.h"
#include "doors/transport/fair_shares.h"
#include "service/api/caller.h"

namespace glovebox::mcp {

struct Session {
  Session(std::string tenant, http::FairShares& room) : streams(std::move(tenant), room) {}
  // What is under way is canceled, and what reads its streams ends.
  void end() {
    conversation.end();
    streams.end();
  }

  Conversation conversation{true};
  KeptStreams streams;
  // How many streams of its subscriptions were opened; only the last one continues.
  std::atomic<std::uint64_t> subscribed_streams = 0;
};

// Safe to use from several threads. Outlives its sessions.
class Sessions {
 public:
  static constexpr std::size_t kMost = 4'096;
  static constexpr std::size_t kMostOfTenant = 256;
  static constexpr std::chrono::hours kIdle{1};
  // Bytes of events that are kept for clients that lose their connection.
  static constexpr std::size_t kMostKept = 64UL << 20;

  // Adds a session, with an id that nobody can guess. If its tenant, or this machine, has too many,
  // the one that was idle for longest goes.
  std::pair<std::string, std::shared_ptr<Session>> add(const Caller& caller);
  // Null when it is over, or belongs to somebody else.
  std::shared_ptr<Session> find(const Caller& caller, std::string_view id);
  // Takes it away; null as above.
  std::shared_ptr<Session> remove(const Caller& caller, std::string_view id);

 private:
  using Clock = std::chrono::steady_clock;
  struct Owned {
    std::string tenant;
    std::string key;  // The id of the key that began it.
    std::shared_ptr<Session> session;
    Clock::time_point used;
  };
  using ById = std::map<std::string, Owned, std::less<>>;
  // These require the mutex.
  void drop_idle();
  void make_room(const std::string& tenant);
  ById::iterator find_own(const Caller& caller, std::string_view id);

  http::FairShares room_{kMostKept, 4};
  std::mutex mutex_;
  ById sessions_;
};

}  // namespace glovebox::mcp
