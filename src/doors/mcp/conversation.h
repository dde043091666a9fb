// SPDX-License-Identifier: Apache-2.0
// Conversation: what a connection remembers between messages.
//
// A process on standard input and output is one conversation; so is a session over HTTP. A request
// of revision 2026-07-28 over HTTP has one to itself, since that revision has no sessions.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "doors/mcp/cancellation.h"
#include "doors/mcp/message.h"
#include "doors/mcp/watching.h"

namespace glovebox::mcp {

// The way to the client. Any thread.
struct Outlet {
  // Sends one message, or drops it if it cannot be delivered.
  std::function<void(std::string_view message)> send;
  // Ends the connection of a client that resumes its stream elsewhere. Empty if none can.
  std::function<void()> release{};
  // Set only in a task, whose client fetches what it is asked and told: a request to the client,
  // the news that nobody wants its response any more, and what a program prints.
  std::function<void(const std::string& id, std::string_view method, const Json& params)> ask{};
  std::function<void(const std::string& id)> withdraw{};
  std::function<void(std::string_view text)> print{};

  void operator()(std::string_view message) const { send(message); }
};

// The sandbox of requests that name none. Safe to use from several threads.
class DefaultSandbox {
 public:
  // Empty before there is one.
  [[nodiscard]] std::string id() const;
  void set(std::string id);
  // Held by whoever creates or deletes it.
  std::mutex& mutex() { return use_mutex_; }

 private:
  std::mutex use_mutex_;
  mutable std::mutex mutex_;
  std::string id_;
};

// Safe to use from several threads.
class Conversation {
 public:
  // Requests that one conversation may have under way.
  static constexpr std::size_t kMaxCalls = 64;

  // `lasts`: further requests belong to it, so that it may have a sandbox of its own, or share one
  // with other conversations.
  explicit Conversation(
      bool lasts, std::shared_ptr<DefaultSandbox> sandbox = std::make_shared<DefaultSandbox>())
      : lasts_(lasts), sandbox_(std::move(sandbox)) {}
  [[nodiscard]] bool lasts() const { return lasts_; }

  // What `initialize` agreed on; empty before, and in a conversation that needs none.
  [[nodiscard]] std::string version() const;
  [[nodiscard]] Params capabilities() const;
  void begin(std::string version, Params capabilities);

  // The least severe level that the client wants to hear about; empty: nothing.
  [[nodiscard]] std::string log_level() const;
  void set_log_level(std::string level);

  // A request under way, which can be canceled by its id as long as this lives. kInvalid when the
  // id is in use, kExhausted when there are too many.
  class Entry {
   public:
    Entry(Conversation& conversation, std::string key)
        : conversation_(conversation), key_(std::move(key)) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry();
    [[nodiscard]] Cancellation& cancellation() { return cancellation_; }

   private:
    Conversation& conversation_;
    const std::string key_;
    Cancellation cancellation_;
  };
  Result<std::unique_ptr<Entry>> enter(const Json& id);
  void cancel(const Json& id);
  // Cancels all that is under way, and every wait for a response.
  void end();

  // Sends a request to the client and waits for the response. Fails with kUnavailable, and tells
  // the client so, when the request that asks is canceled, no response comes within the time, or
  // `is_moot`, which must not wait, says that nobody wants it any more. `is_moot` is called once a
  // second, and after a wake().
  Result<Params> ask(std::string_view method,
                     const Json& params,
                     const Outlet& outlet,
                     Cancellation& cancellation,
                     std::chrono::seconds patience,
                     const std::function<bool()>& is_moot);
  // Makes everybody who waits for a response check again whether it is still wanted.
  void wake();
  // A response of the client. Ignored when nobody waits for it.
  void take_response(const Message& response);

  [[nodiscard]] DefaultSandbox& sandbox() const { return *sandbox_; }
  [[nodiscard]] std::shared_ptr<DefaultSandbox> shared_sandbox() const { return sandbox_; }

  // What the client has subscribed to; its transport tells it about changes.
  [[nodiscard]] Watching& watching() { return watching_; }
  // Notes the version of the client's list of resources; true if the client knew another one.
  [[nodiscard]] bool note_resources(std::uint64_t version) {
    return resources_.exchange(version) != version;
  }
  // It was ended.
  [[nodiscard]] bool is_over() const;

 private:
  struct Question {
    bool answered = false;
    Result<Params> answer = Error(ErrorCode::kUnavailable, "no response");
  };

  const bool lasts_;
  const std::shared_ptr<DefaultSandbox> sandbox_;
  Watching watching_;
  std::atomic<std::uint64_t> resources_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string version_;
  Params capabilities_ = Params::object();
  std::string log_level_;
  std::map<std::string, Entry*> calls_;  // By the text of their ids.
  std::map<std::string, Question*> questions_;
  std::uint64_t next_question_ = 1;
  bool over_ = false;
};

}  // namespace glovebox::mcp
