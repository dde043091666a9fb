// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/sessions.h"

#include <algorithm>
#include <utility>

#include "doors/mcp/http/random_id.h"

namespace glovebox::mcp {

void Sessions::drop_idle() {
  const auto before = Clock::now() - kIdle;
  std::erase_if(sessions_, [&](const auto& each) {
    const bool idle = each.second.used < before;
    if (idle) {
      each.second.session->end();
    }
    return idle;
  });
}

void Sessions::make_room(const std::string& tenant) {
  const auto of_tenant = static_cast<std::size_t>(std::ranges::count_if(
      sessions_, [&](const auto& each) { return each.second.tenant == tenant; }));
  const bool crowded = of_tenant >= kMostOfTenant;
  if (!crowded && sessions_.size() < kMost) {
    return;
  }
  auto oldest = sessions_.end();
  for (auto each = sessions_.begin(); each != sessions_.end(); ++each) {
    if ((!crowded || each->second.tenant == tenant) &&
        (oldest == sessions_.end() || each->second.used < oldest->second.used)) {
      oldest = each;
    }
  }
  oldest->second.session->end();
  sessions_.erase(oldest);
}

std::pair<std::string, std::shared_ptr<Session>> Sessions::add(const Caller& caller) {
  const std::scoped_lock lock(mutex_);
  drop_idle();
  make_room(caller.tenant);
  std::string id = random_id();
  auto session = std::make_shared<Session>(caller.tenant, room_);
  sessions_[id] = {.tenant = caller.tenant,
                   .key = caller.key,
                   .session = session,
                   .used = Clock::now()};
  return {std::move(id), std::move(session)};
}

Sessions::ById::iterator Sessions::find_own(const Caller& caller, std::string_view id) {
  const auto found = sessions_.find(id);
  return found != sessions_.end() && found->second.tenant == caller.tenant &&
                 found->second.key == caller.key
             ? found
             : sessions_.end();
}

std::shared_ptr<Session> Sessions::find(const Caller& caller, std::string_view id) {
  const std::scoped_lock lock(mutex_);
  const auto found = find_own(caller, id);
  if (found == sessions_.end()) {
    return nullptr;
  }
  found->second.used = Clock::now();
  return found->second.session;
}

std::shared_ptr<Session> Sessions::remove(const Caller& caller, std::string_view id) {
  const std::scoped_lock lock(mutex_);
  const auto found = find_own(caller, id);
  if (found == sessions_.end()) {
    return nullptr;
  }
  auto session = std::move(found->second.session);
  sessions_.erase(found);
  return session;
}

}  // namespace glovebox::mcp
