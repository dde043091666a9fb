// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/conversation.h"

#include <algorithm>
#include <utility>

namespace glovebox::mcp {
namespace {

constexpr std::chrono::seconds kAskAgainEvery{1};

}  // namespace

std::string DefaultSandbox::id() const {
  const std::scoped_lock lock(mutex_);
  return id_;
}

void DefaultSandbox::set(std::string id) {
  const std::scoped_lock lock(mutex_);
  id_ = std::move(id);
}

std::string Conversation::version() const {
  const std::scoped_lock lock(mutex_);
  return version_;
}

Params Conversation::capabilities() const {
  const std::scoped_lock lock(mutex_);
  return capabilities_;
}

void Conversation::begin(std::string version, Params capabilities) {
  const std::scoped_lock lock(mutex_);
  version_ = std::move(version);
  capabilities_ = std::move(capabilities);
}

std::string Conversation::log_level() const {
  const std::scoped_lock lock(mutex_);
  return log_level_;
}

void Conversation::set_log_level(std::string level) {
  const std::scoped_lock lock(mutex_);
  log_level_ = std::move(level);
}

Conversation::Entry::~Entry() {
  const std::scoped_lock lock(conversation_.mutex_);
  conversation_.calls_.erase(key_);
}

Result<std::unique_ptr<Conversation::Entry>> Conversation::enter(const Json& id) {
  const std::scoped_lock lock(mutex_);
  if (over_ || calls_.size() >= kMaxCalls) {
    return Error(ErrorCode::kExhausted,
                 "at most " + std::to_string(kMaxCalls) + " requests can be under way",
                 "wait for one of them, or cancel it");
  }
  const std::string key = id.dump();
  if (calls_.contains(key)) {
    return Error(ErrorCode::kInvalid, "the id " + key + " belongs to a request under way");
  }
  auto entry = std::make_unique<Entry>(*this, key);
  calls_[key] = entry.get();
  return entry;
}

void Conversation::cancel(const Json& id) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = calls_.find(id.dump()); found != calls_.end()) {
    found->second->cancellation().cancel();
    changed_.notify_all();
  }
}

void Conversation::end() {
  const std::scoped_lock lock(mutex_);
  over_ = true;
  for (const auto& [key, entry] : calls_) {
    entry->cancellation().cancel();
  }
  changed_.notify_all();
}

Result<Params> Conversation::ask(std::string_view method,
                                 const Json& params,
                                 const Outlet& outlet,
                                 Cancellation& cancellation,
                                 std::chrono::seconds patience,
                                 const std::function<bool()>& is_moot) {
  Question question;
  std::string id;
  {
    const std::scoped_lock lock(mutex_);
    id = "glovebox-" + std::to_string(next_question_++);
    questions_[Json(id).dump()] = &question;
  }
  if (outlet.ask) {
    outlet.ask(id, method, params);
  } else {
    outlet(request_text(id, method, params));
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::unique_lock lock(mutex_);
  while (!question.answered && !over_ && !cancellation.canceled() && !(is_moot && is_moot()) &&
         std::chrono::steady_clock::now() < deadline) {
    (void)changed_.wait_until(
        lock, std::min(deadline, std::chrono::steady_clock::now() + kAskAgainEvery));
  }
  questions_.erase(Json(id).dump());
  lock.unlock();
  if (!question.answered) {
    if (outlet.withdraw) {
      outlet.withdraw(id);
    } else {
      outlet(notification_text("notifications/cancelled",
                               {{"requestId", id}, {"reason", "nobody waits for it any more"}}));
    }
    return Error(ErrorCode::kUnavailable, "the client did not respond to " + std::string(method));
  }
  return std::move(question.answer);
}

void Conversation::wake() {
  const std::scoped_lock lock(mutex_);
  changed_.notify_all();
}

void Conversation::take_response(const Message& response) {
  const std::scoped_lock lock(mutex_);
  const auto found = questions_.find(response.id.dump());
  if (found == questions_.end()) {
    return;
  }
  found->second->answered = true;
  found->second->answer =
      response.result
          ? Result<Params>(*response.result)
          : Result<Params>(Error(ErrorCode::kRefused, "the client refused the request"));
  changed_.notify_all();
}

bool Conversation::is_over() const {
  const std::scoped_lock lock(mutex_);
  return over_;
}

}  // namespace glovebox::mcp
