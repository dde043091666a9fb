// SPDX-License-Identifier: Apache-2.0
// The life of one sandbox.
#include <algorithm>
#include <utility>

#include "base/json/json.h"
#include "service/keeper/codec.h"
#include "service/local/local_service.h"

namespace glovebox {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

// How long to wait for others that change or revive the same sandbox; each has a deadline.
constexpr auto kTurn = 60s;

// What a saved sandbox has besides its guests' memory: its kernel's, and in the tier microvm all
// else that the machine has.
constexpr Bytes kBesideMemory{96UL << 20};

Error busy(std::string_view id) {
  return {ErrorCode::kConflict,
          "sandbox '" + std::string(id) + "' is being changed by another request",
          "try again in a moment"};
}

// Whether somebody else has changed what `change` would replace.
bool comes_too_late(const SandboxChange& change, const SandboxInfo& now) {
  return change.made_from && ((change.metadata && change.made_from->metadata != now.metadata) ||
                              (change.network && change.made_from->network != now.network) ||
                              (change.extra && change.made_from->extra != now.extra));
}

}  // namespace

Result<SandboxInfo> LocalService::change(const Caller& caller,
                                         std::string_view id,
                                         const SandboxChange& change) {
  const auto lock = changing_.take(id, kTurn);
  if (!lock) {
    return busy(id);
  }
  SandboxEntry entry;
  entry.tenant = caller.tenant;
  entry.info = GB_TRY(book_.find(caller.tenant, id));
  SandboxInfo& info = entry.info;
  if (comes_too_late(change, info)) {
    return busy(id);
  }
  if (change.timeout) {
    info.expires = std::chrono::system_clock::now() + *change.timeout;
  }
  info.on_timeout = change.on_timeout.value_or(info.on_timeout);
  info.auto_resume = change.auto_resume.value_or(info.auto_resume);
  info.metadata = change.metadata.value_or(info.metadata);
  if (change.network) {
    NetworkRules rules = *change.network;
    GB_TRY(choose_placeholders(rules.credentials, info.network.credentials));
    // Setting the same rules again brings the present values of their secrets.
    if (rules != info.network || !rules.credentials.empty()) {
      GB_TRY(check_network(rules, change.network_optional));
      GB_TRY(change_network(caller, id, rules));
      info.network = std::move(rules);
    }
  }
  info.extra = change.extra.value_or(info.extra);
  return store(entry);
}

Result<void> LocalService::check_network(const NetworkRules& rules, bool optional) const {
  return optional && network_ == NetworkPolicy::kNone ? Result<void>()
                                                      : check_policy(rules, network_);
}

Result<void> LocalService::check_nested(bool wanted) const {
  if (wanted && !allow_nested_) {
    return Error(ErrorCode::kRefused,
                 "this daemon lets no sandbox contain sandboxes of its own ('nested')",
                 "leave out 'nested', or have the operator start the daemon with "
                 "'glovebox serve --allow-nested'");
  }
  return {};
}

Result<std::optional<keeper::NetworkOrder>> LocalService::way_out(std::string_view tenant,
                                                                  const NetworkRules& rules,
                                                                  bool may_miss) {
  if (network_ == NetworkPolicy::kNone || !lets_out(rules)) {
    return std::optional<keeper::NetworkOrder>();
  }
  keeper::NetworkOrder order{.rules = rules, .public_only = network_ != NetworkPolicy::kAny};
  order.secrets = GB_TRY(secrets_.values(tenant, secrets_of(rules.credentials), may_miss));
  if (may_miss) {
    keep_rules_with(order.secrets, order.rules.credentials);
  }
  return std::optional(std::move(order));
}

// A sandbox without a way out may be told to let nothing out; one that sleeps on disk gets its
// rules when it wakes.
Result<void> LocalService::change_network(const Caller& caller,
                                          std::string_view id,
                                          const NetworkRules& rules) {
  const auto order = GB_TRY(way_out(caller.tenant, rules));
  const auto changed = keeper_.call(
      "change_network",
      {{"sandbox", id}, {"network", keeper::to_json(order.value_or(keeper::NetworkOrder()))}});
  if (!changed && changed.error().code() != ErrorCode::kNotFound &&
      (order || changed.error().code() != ErrorCode::kConflict)) {
    return changed.error();
  }
  return {};
}

Result<void> LocalService::kill(const Caller& caller, std::string_view id) {
  const SandboxInfo info = GB_TRY(book_.find(caller.tenant, id));
  const auto killed = keeper_.call("kill", {{"sandbox", id}});
  if (!killed && killed.error().code() != ErrorCode::kNotFound) {
    return killed.error();
  }
  const Ending now{.reason = EndReason::kDeleted, .at = std::chrono::system_clock::now()};
  // Its time may have run out just now: it is gone all the same, and how it ended is noted.
  const auto before = killed ? KeeperEndings() : keeper_endings({std::string(id)});
  const auto found = before.ended.find(id);
  forget(id, found == before.ended.end() ? now : found->second);
  workspaces_.remove(id);
  if (info.saved.count > 0) {
    workspaces_.remove_saved(id);
    saved_disk_.drop(id);
  }
  return {};
}

Result<void> LocalService::pause(const Caller& caller, std::string_view id, PauseTo to) {
  const SandboxInfo info = GB_TRY(book_.find(caller.tenant, id));
  if (info.state == SandboxState::kPaused) {
    return Error(ErrorCode::kConflict, "sandbox '" + info.id + "' is already paused");
  }
  if (to == PauseTo::kDisk) {
    return pause_to_disk(caller, info);
  }
  (void)GB_TRY(call_about(caller, id, "pause", json::object()));
  book_.set_state(id, SandboxState::kPaused);
  return {};
}

bool LocalService::is_being_saved(std::string_view id) {
  const std::scoped_lock lock(mutex_);
  return saving_.contains(id);
}

// What is written about it comes first: if the machine stops meanwhile, the sandbox is not there,
// or can be continued.
Result<void> LocalService::pause_to_disk(const Caller& caller, SandboxInfo info) {
  const auto lock = changing_.take(info.id, kTurn);
  if (!lock) {
    return busy(info.id);
  }
  const SandboxUsage used =
      keeper::to_usage(GB_TRY(call_about(caller, info.id, "usage", json::object())));
  info.saved = {used.memory_used.count + kBesideMemory.count};
  QuotaLease lease = GB_TRY(quotas_.reserve(caller.tenant, disk_use(info.saved)));
  const SandboxInfo before = info;
  info.state = SandboxState::kPaused;
  SandboxEntry entry = GB_TRY(book_.entry(info.id));
  entry.info = info;
  GB_TRY(store_on_disk(entry));
  const auto mark = [this, id = info.id](bool saving) {
    const std::scoped_lock noting(mutex_);
    saving ? (void)saving_.insert(id) : (void)saving_.erase(id);
  };
  mark(true);
  auto saved = call_about(caller, info.id, "save",
                          {{"to", workspaces_.saved(info.id)}, {"room", info.saved.count}});
  if (saved) {
    saved_disk_.put(info.id, std::move(lease));
    book_.set(info);
  } else {
    entry.info = before;
    entry.info.saved = {};
    (void)store_on_disk(entry);
  }
  mark(false);
  return saved ? Result<void>() : std::move(saved).error();
}

Result<QuotaLease> LocalService::copy_memory(const Caller& caller,
                                             const SandboxInfo& info,
                                             const std::string& to) {
  const auto lock = changing_.take(info.id, kTurn);
  if (!lock) {
    return busy(info.id);
  }
  const SandboxUsage used =
      keeper::to_usage(GB_TRY(call_about(caller, info.id, "usage", json::object())));
  const Bytes room{used.memory_used.count + kBesideMemory.count};
  QuotaLease lease = GB_TRY(quotas_.reserve(caller.tenant, disk_use(room)));
  (void)GB_TRY(call_about(caller, info.id, "copy", {{"to", to}, {"room", room.count}}));
  return lease;
}

Result<SandboxInfo> LocalService::resume(const Caller& caller, std::string_view id) {
  const SandboxInfo before = GB_TRY(book_.find(caller.tenant, id));
  if (workspaces_.has(before)) {
    const auto one_at_a_time = reviving_.take(id, kTurn);
    if (!one_at_a_time) {
      return busy(id);
    }
    const auto alive = keeper_.call("resume", {{"sandbox", id}});
    if (!alive && alive.error().code() == ErrorCode::kNotFound) {
      return revive_sandbox(caller, GB_TRY(book_.find(caller.tenant, id)));
    }
  }
  const json said = GB_TRY(call_about(caller, id, "resume", json::object()));
  const auto lock = changing_.take(id, kTurn);
  if (!lock) {
    return busy(id);
  }
  SandboxInfo info = GB_TRY(book_.find(caller.tenant, id));
  info.state = SandboxState::kRunning;
  info.expires = keeper::to_time(said.value("expires", keeper::to_ms(info.expires)));
  book_.set(info);
  return info;
}

// Makes a sandbox with the same id and the same files; what ran in it is gone, unless its memory
// was saved.
Result<SandboxInfo> LocalService::revive_sandbox(const Caller& caller, SandboxInfo info) {
  constexpr std::chrono::minutes kGrace{5};
  GB_TRY(check_nested(info.nested));
  const auto now = std::chrono::system_clock::now();
  const Base base = GB_TRY(base_of(caller, info));
  std::vector<keeper::ImageOrder> images = GB_TRY(volumes_.order(caller, info.volumes));
  const bool from_memory = workspaces_.has_saved(info);
  if (!from_memory) {
    images.push_back({.image = workspaces_.path(info.id), .target = base.kind.home});
  }
  info.expires = std::max(info.expires, now + kGrace);
  info.restarted = info.restarted || !from_memory;
  info.saved = {};
  info.state = SandboxState::kRunning;
  keeper::CreateOrder order = order_of(caller, base, info);
  order.image_user = info.as_root && !info.sudo ? info.run_as : std::string();
  order.tier.exactly = info.tier;
  order.images = std::move(images);
  order.network = GB_TRY(way_out(caller.tenant, info.network, /*may_miss=*/true));
  order.saved = from_memory ? workspaces_.saved(info.id) : std::string();
  const SandboxEntry entry{.tenant = caller.tenant, .claim = {}, .filling = false, .info = info};
  (void)GB_TRY(
      keeper_.call("create", {{"order", keeper::to_json(order)}, {"record", encode(entry)}}));
  book_.set(info);
  if (from_memory) {
    saved_disk_.drop(info.id);
    (void)store_on_disk(entry);
  }
  return info;
}

Result<SandboxUsage> LocalService::usage(const Caller& caller, std::string_view id) {
  (void)GB_TRY(book_.find(caller.tenant, id));
  return keeper::to_usage(GB_TRY(call_about(caller, id, "usage", json::object())));
}

Result<SandboxConnections> LocalService::connections(const Caller& caller, std::string_view id) {
  (void)GB_TRY(book_.find(caller.tenant, id));
  return keeper::to_connections(GB_TRY(call_about(caller, id, "connections", json::object())));
}

}  // namespace glovebox
