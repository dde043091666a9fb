// SPDX-License-Identifier: Apache-2.0
// SseSessions: the event streams of clients that speak the transport of revision 2024-11-05, each
// with its conversation.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "doors/mcp/conversation.h"
#include "doors/transport/fair_shares.h"
#include "service/api/caller.h"

namespace glovebox::mcp {

// One stream. Safe to use from several threads.
class SseSession {
 public:
  SseSession(Caller caller,
             std::string id,
             std::shared_ptr<DefaultSandbox> sandbox,
             http::FairShares& room);

  [[nodiscard]] const Caller& caller() const { return caller_; }
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] Conversation& conversation() { return conversation_; }

  // Adds an event for the client. The stream breaks when its tenant has too many bytes waiting.
  void send(std::string_view event, std::string_view data);
  // The next event, as it goes over the wire; nothing when none waits.
  std::optional<std::string> next();
  // Readable when next() may have an event or the stream is broken.
  [[nodiscard]] int fd() const { return waiting_fd_.get(); }
  [[nodiscard]] bool broken() const;
  // Drops what waits, and cancels what is under way.
  void end();
  [[nodiscard]] bool ended() const;

 private:
  struct Waiting {
    std::string text;
    http::FairShares::Share share;
  };

  const Caller caller_;
  const std::string id_;
  http::FairShares& room_;
  const UniqueFd waiting_fd_;
  Conversation conversation_;
  mutable std::mutex mutex_;
  std::deque<Waiting> waiting_;
  bool broken_ = false;
  bool ended_ = false;
};

// Safe to use from several threads. Outlives its sessions.
class SseSessions {
 public:
  static constexpr std::size_t kMost = 4'096;
  static constexpr std::size_t kMostOfTenant = 256;
  // Bytes of events that clients have not taken.
  static constexpr std::size_t kMostWaiting = 64UL << 20;

  // `over` is called from a thread of this object or of a caller of settle(), with the last
  // conversation that used a sandbox: so that the sandbox can be deleted.
  explicit SseSessions(std::function<void(const Caller& caller, Conversation& conversation)> over);
  SseSessions(const SseSessions&) = delete;
  SseSessions& operator=(const SseSessions&) = delete;
  ~SseSessions();

  // kExhausted when the tenant or all together have too many. Sessions of one key with the same
  // `group` share a sandbox; an empty one is shared with nobody.
  Result<std::shared_ptr<SseSession>> open(const Caller& caller, std::string_view group);
  // Null when it is over, or belongs to somebody else.
  std::shared_ptr<SseSession> find(const Caller& caller, std::string_view id);
  // Returns at once; what the session had is deleted soon.
  void close(std::shared_ptr<SseSession> session);
  // Deletes what a session that has ended still has: a call may have made it since.
  void settle(SseSession& session);

 private:
  void clean_up();

  const std::function<void(const Caller& caller, Conversation& conversation)> over_;
  http::FairShares room_{kMostWaiting, 4};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<SseSession>, std::less<>> sessions_;
  std::map<std::string, std::weak_ptr<DefaultSandbox>> groups_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<SseSession>> closed_;
  bool stopping_ = false;
  std::thread cleaner_;
};

}  // namespace glovebox::mcp
