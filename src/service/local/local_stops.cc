// SPDX-License-Identifier: Apache-2.0
#include "service/local/local_stops.h"

#include <algorithm>
#include <mutex>

#include "base/json/json.h"
#include "service/local/local_service.h"

namespace glovebox {

using nlohmann::json;

Result<void> LocalStops::load() {
  std::vector<EmergencyStop> kept;
  for (const StopRecord& record : GB_TRY(records_.all())) {
    kept.push_back({.scope = {.kind = GB_TRY(parse_stop_kind(record.kind)), .name = record.name},
                    .by_tenant = record.by_tenant,
                    .by_key = record.by_key,
                    .at = record.at});
  }
  const std::scoped_lock lock(mutex_);
  stops_ = std::move(kept);
  any_ = !stops_.empty();
  return {};
}

Result<void> LocalStops::add(const EmergencyStop& stop) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::ranges::find(stops_, stop.scope, &EmergencyStop::scope) == stops_.end()) {
      stops_.push_back(stop);
      any_ = true;
    }
  }
  return records_.insert({.kind = std::string(to_string(stop.scope.kind)),
                          .name = stop.scope.name,
                          .by_tenant = stop.by_tenant,
                          .by_key = stop.by_key,
                          .at = stop.at});
}

Result<void> LocalStops::remove(const StopScope& scope) {
  // From the database first: a stop that comes back with the next daemon was not lifted.
  GB_TRY(records_.remove(to_string(scope.kind), scope.name));
  const std::scoped_lock lock(mutex_);
  const std::size_t removed =
      std::erase_if(stops_, [&](const EmergencyStop& stop) { return stop.scope == scope; });
  any_ = !stops_.empty();
  return removed > 0 ? Result<void>()
                     : Error(ErrorCode::kNotFound, "no emergency stop of this scope is in effect",
                             "'glovebox emergency-stop --list' shows those that are");
}

std::vector<EmergencyStop> LocalStops::all() const {
  const std::shared_lock lock(mutex_);
  return stops_;
}

std::optional<EmergencyStop> LocalStops::of(std::string_view tenant,
                                            std::string_view sandbox) const {
  if (!any_) {
    return std::nullopt;
  }
  const std::shared_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      stops_, [&](const EmergencyStop& stop) { return covers(stop.scope, tenant, sandbox); });
  return found == stops_.end() ? std::nullopt : std::optional(*found);
}

Result<std::size_t> LocalService::emergency_stop(const Caller& caller, const StopScope& scope) {
  if (scope.kind == StopScope::Kind::kSandbox) {
    (void)GB_TRY(book_.entry(scope.name));
  } else if (scope.kind == StopScope::Kind::kTenant) {
    (void)GB_TRY(tenant_calls_.tenant(caller, scope.name));
  }
  // In effect before anything is ended, so that nothing new slips in behind.
  const auto recorded = stops_in_effect_.add({.scope = scope,
                                              .by_tenant = caller.tenant,
                                              .by_key = caller.key,
                                              .at = std::chrono::system_clock::now()});
  std::size_t ended = 0;
  Result<void> reached;
  if (scope.kind == StopScope::Kind::kAll) {
    ++stops_;  // Which one-shot runs look for.
    auto stopped = keeper_.call("emergency_end_all", json::object());
    reached = stopped ? Result<void>() : Result<void>(stopped.error());
    ended = stopped && stopped->is_number() ? stopped->get<std::size_t>() : 0;
  } else {
    for (const SandboxEntry& entry : book_.all()) {
      if (!covers(scope, entry.tenant, entry.info.id)) {
        continue;
      }
      const auto stopped = keeper_.call("emergency_end", {{"sandbox", entry.info.id}});
      ended += stopped ? 1 : 0;
      if (!stopped && stopped.error().code() != ErrorCode::kNotFound) {
        reached = stopped.error();
      }
    }
  }
  look_for_ended();
  GB_TRY(std::move(reached));
  if (!recorded) {
    return Error(recorded.error()).within("everything was stopped, but this is not stored");
  }
  return ended;
}

Result<void> LocalService::lift_emergency_stop(const Caller&, const StopScope& scope) {
  return stops_in_effect_.remove(scope);
}

Result<std::vector<EmergencyStop>> LocalService::emergency_stops(const Caller&) {
  return stops_in_effect_.all();
}

std::optional<EmergencyStop> LocalService::stop_of(std::string_view tenant,
                                                   std::string_view sandbox) {
  return stops_in_effect_.of(tenant, sandbox);
}

}  // namespace glovebox
