// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/fair_queue.h"

#include <algorithm>
#include <utility>

namespace glovebox {

Result<FairQueue::Ticket> FairQueue::arrive(std::string_view tenant, std::size_t most_of_tenant) {
  const auto found = lines_.find(tenant);
  const std::size_t most = std::max<std::size_t>(most_of_tenant, 1);
  const std::size_t before = found == lines_.end() ? 0 : found->second.waiting.size();
  const std::size_t of_tenant = found == lines_.end() ? 0 : found->second.running;
  // An execution that can run at once waits for nobody, and no bound on waiting concerns it.
  const bool at_once = before == 0 && running_ < bounds_.slots && may_run_more(of_tenant, most);
  if (!at_once && (before >= bounds_.waiting_of_tenant || waiting_ >= bounds_.waiting)) {
    return Error(ErrorCode::kExhausted, "too many executions are waiting");
  }
  const Ticket ticket = ++last_ticket_;
  Line& line = found == lines_.end() ? lines_[std::string(tenant)] : found->second;
  line.most = most;
  line.waiting.push_back(ticket);
  ++waiting_;
  places_.emplace(ticket, Place{std::string(tenant), false});
  return ticket;
}

bool FairQueue::may_run_more(std::size_t running_of_tenant, std::size_t most) const {
  const std::size_t left_by_others = bounds_.slots - (running_ - running_of_tenant);
  return running_of_tenant < most &&
         running_of_tenant < std::max<std::size_t>(left_by_others / bounds_.parts, 1);
}

FairQueue::Lines::iterator FairQueue::next_line() {
  const auto ready = [this](const Lines::value_type& entry) {
    return !entry.second.waiting.empty() && may_run_more(entry.second.running, entry.second.most);
  };
  // From the tenant after the one served last, and around to it.
  const auto start = lines_.upper_bound(last_);
  const auto after = std::find_if(start, lines_.end(), ready);
  if (after != lines_.end()) {
    return after;
  }
  const auto before = std::find_if(lines_.begin(), start, ready);
  return before == start ? lines_.end() : before;
}

std::vector<FairQueue::Ticket> FairQueue::next() {
  std::vector<Ticket> told;
  while (running_ < bounds_.slots && waiting_ > 0) {
    const auto line = next_line();
    if (line == lines_.end()) {
      break;
    }
    const Ticket ticket = line->second.waiting.front();
    line->second.waiting.pop_front();
    ++line->second.running;
    --waiting_;
    ++running_;
    places_.at(ticket).runs = true;
    last_ = line->first;
    told.push_back(ticket);
  }
  return told;
}

void FairQueue::leave(Ticket ticket) {
  const auto place = places_.find(ticket);
  GB_CHECK(place != places_.end());
  const auto line = lines_.find(place->second.tenant);
  if (place->second.runs) {
    --line->second.running;
    --running_;
  } else {
    std::erase(line->second.waiting, ticket);
    --waiting_;
  }
  if (line->second.running == 0 && line->second.waiting.empty()) {
    lines_.erase(line);
  }
  places_.erase(place);
}

}  // namespace glovebox
