// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/sse_sessions.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "doors/mcp/http/random_id.h"

namespace glovebox::mcp {

SseSession::SseSession(Caller caller,
                       std::string id,
                       std::shared_ptr<DefaultSandbox> sandbox,
                       http::FairShares& room)
    : caller_(std::move(caller)),
      id_(std::move(id)),
      room_(room),
      waiting_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      conversation_(true, std::move(sandbox)) {}

void SseSession::send(std::string_view event, std::string_view data) {
  std::string text = "event: ";
  text.append(event).append("\ndata: ").append(data).append("\n\n");
  const std::scoped_lock lock(mutex_);
  if (broken_ || ended_) {
    return;
  }
  if (auto share = room_.take(caller_.tenant, text.size())) {
    waiting_.push_back({.text = std::move(text), .share = *std::move(share)});
  } else {
    broken_ = true;
  }
  (void)::eventfd_write(waiting_fd_.get(), 1);
}

std::optional<std::string> SseSession::next() {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) {
    eventfd_t count = 0;
    (void)::eventfd_read(waiting_fd_.get(), &count);
    return std::nullopt;
  }
  std::string text = std::move(waiting_.front().text);
  waiting_.pop_front();
  return text;
}

bool SseSession::broken() const {
  const std::scoped_lock lock(mutex_);
  return broken_;
}

void SseSession::end() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    waiting_.clear();
  }
  conversation_.end();
}

bool SseSession::ended() const {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

SseSessions::SseSessions(std::function<void(const Caller& caller, Conversation& conversation)> over)
    : over_(std::move(over)), cleaner_([this] { clean_up(); }) {}

SseSessions::~SseSessions() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  cleaner_.join();
}

Result<std::shared_ptr<SseSession>> SseSessions::open(const Caller& caller,
                                                      std::string_view group) {
  const std::scoped_lock lock(mutex_);
  const auto of_tenant = static_cast<std::size_t>(std::ranges::count_if(
      sessions_, [&](const auto& each) { return each.second->caller().tenant == caller.tenant; }));
  if (sessions_.size() >= kMost || of_tenant >= kMostOfTenant) {
    return Error(ErrorCode::kExhausted, "too many open event streams", "close some of them");
  }
  std::shared_ptr<DefaultSandbox> sandbox;
  if (!group.empty()) {
    std::erase_if(groups_, [](const auto& each) { return each.second.expired(); });
    // Neither a tenant's name nor a key's id has a slash.
    auto& shared = groups_[caller.tenant + "/" + caller.key + "/" + std::string(group)];
    sandbox = shared.lock();
    if (!sandbox) {
      sandbox = std::make_shared<DefaultSandbox>();
      shared = sandbox;
    }
  } else {
    sandbox = std::make_shared<DefaultSandbox>();
  }
  auto session = std::make_shared<SseSession>(caller, random_id(), std::move(sandbox), room_);
  if (session->fd() < 0) {
    return Error(ErrorCode::kUnavailable, "too many open files");
  }
  sessions_[session->id()] = session;
  return session;
}

std::shared_ptr<SseSession> SseSessions::find(const Caller& caller, std::string_view id) {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(id);
  return found != sessions_.end() && found->second->caller().tenant == caller.tenant &&
                 found->second->caller().key == caller.key
             ? found->second
             : nullptr;
}

void SseSessions::close(std::shared_ptr<SseSession> session) {
  session->end();
  {
    const std::scoped_lock lock(mutex_);
    sessions_.erase(session->id());
    closed_.push_back(std::move(session));
  }
  changed_.notify_one();
}

void SseSessions::settle(SseSession& session) {
  DefaultSandbox& sandbox = session.conversation().sandbox();
  {
    const std::scoped_lock lock(mutex_);
    if (std::ranges::any_of(sessions_, [&](const auto& each) {
          return &each.second->conversation().sandbox() == &sandbox;
        })) {
      return;
    }
  }
  // Waits for whoever creates one just now.
  const std::scoped_lock lock(sandbox.mutex());
  if (!sandbox.id().empty()) {
    over_(session.caller(), session.conversation());
    sandbox.set({});
  }
}

void SseSessions::clean_up() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !closed_.empty(); });
    if (closed_.empty()) {
      return;
    }
    const auto session = std::move(closed_.front());
    closed_.pop_front();
    lock.unlock();
    settle(*session);
    lock.lock();
  }
}

}  // namespace glovebox::mcp
