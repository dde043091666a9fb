// SPDX-License-Identifier: Apache-2.0
#include "service/local/local_service.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/json/json.h"
#include "language/registry.h"
#include "service/keeper/codec.h"
#include "service/local/sandbox_facts.h"
#include "service/tenants/first_key.h"
#include "spec/json/schema.h"

namespace glovebox {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

// How soon the quota of a sandbox that ended by itself is free again.
constexpr auto kLookEvery = 250ms;
// More executions at once than processors: most of them wait for something. Each one that waits
// holds a thread of the server's: that has 1,024 for them, of which a tenant gets a quarter.
constexpr FairQueue::Bounds kExecutions{
    .slots = 512, .waiting_of_tenant = 256, .waiting = 1'024, .parts = 2};

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

}  // namespace

LocalService::LocalService(std::string directory,
                           const std::string& keeper_socket,
                           Revive revive,
                           std::unique_ptr<Database> database,
                           std::unique_ptr<Tenants> tenants,
                           LocalPackages packages,
                           std::string signing_key,
                           Log& log,
                           const Options& options)
    : directory_(std::move(directory)),
      signing_key_(std::move(signing_key)),
      database_(std::move(database)),
      tenants_(std::move(tenants)),
      records_(*database_),
      template_records_(*database_),
      claims_(*database_),
      stops_in_effect_(*database_),
      quotas_([this](std::string_view tenant) { return tenants_->quotas(tenant); }, now),
      tenant_calls_(*tenants_, quotas_),
      pressure_({}, read_memory_state, now),
      admission_(kExecutions, pressure_, now),
      keeper_(keeper_socket),
      volumes_(directory_, *database_, quotas_, keeper_),
      secrets_(*database_, directory_),
      templates_(directory_,
                 *database_,
                 quotas_,
                 pressure_,
                 secrets_,
                 keeper_,
                 options.network,
                 [this] { return content_in_use(); }),
      workspaces_(directory_, keeper_),
      answers_(directory_, quotas_),
      keep_records_(options.keep_records),
      network_(options.network),
      allow_nested_(options.allow_nested),
      list_files_(options.list_files),
      warm_(options.warm),
      ended_(options.ended),
      happened_(options.happened),
      packages_(std::move(packages)),
      revive_(std::move(revive)),
      log_(log) {}

Result<std::unique_ptr<LocalService>> LocalService::open(const std::string& directory,
                                                         const std::string& keeper_socket,
                                                         Revive revive,
                                                         Log& log,
                                                         const Options& options) {
  auto packages = GB_TRY(LocalPackages::open(options.package_sources, options.package_indexes));
  auto database = GB_TRY(Database::open(directory + "/glovebox.db", migrations(), options.keeping));
  auto tenants = GB_TRY(Tenants::open(*database, [] { return std::chrono::system_clock::now(); }));
  (void)GB_TRY(tenants->make_first_key(directory + "/api-key"));
  std::string signing_key = GB_TRY(make_key_file(directory + "/signing-key"));
  GB_TRY(revive());
  std::unique_ptr<LocalService> service(new LocalService(
      directory, keeper_socket, std::move(revive), std::move(database), std::move(tenants),
      std::move(packages), std::move(signing_key), log, options));
  GB_TRY(service->secrets_.prepare());
  GB_TRY(service->stops_in_effect_.load());
  service->warm_up();
  GB_TRY(service->adopt());
  service->sweep_snapshots();
  GB_TRY(service->templates_.take_over());
  service->templates_.sweep();
  service->forget_old();
  service->watcher_ = std::thread(&LocalService::watch, service.get());
  return service;
}

LocalService::~LocalService() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (watcher_.joinable()) {
    watcher_.join();
  }
}

void LocalService::warm_up() {
  if (happened_) {
    (void)keeper_.call("watch", json::object());
  }
  json orders = json::array();
  std::set<std::string> homes;  // Names of the same kind share a pool.
  for (const std::string& name : warm_) {
    const Kind kind = *find_kind(name);
    if (homes.insert(kind.home).second) {
      keeper::CreateOrder usual;
      usual.home = kind.home;
      usual.user = kind.user;
      packages_.add_to(usual);
      orders.push_back(keeper::to_json(usual));
    }
  }
  (void)keeper_.call("warm_up", {{"orders", std::move(orders)}});
}

Result<void> LocalService::adopt() {
  const json living = GB_TRY(keeper_.call("list", json::object()));
  std::vector<SandboxRecord> alive = GB_TRY(records_.alive());
  std::set<std::string, std::less<>> recorded;
  for (const SandboxRecord& record : alive) {
    recorded.insert(record.id);
  }
  std::set<std::string, std::less<>> ids;
  for (const json& said : living) {
    auto entry = decode_entry(said.value("record", std::string()));
    if (!entry) {
      continue;
    }
    refresh(entry->info, said);
    if (entry->filling) {
      // Nobody was told of it, and nobody fills it any more.
      (void)keeper_.call("kill", {{"sandbox", entry->info.id}});
      continue;
    }
    ids.insert(entry->info.id);
    if (!recorded.contains(entry->info.id)) {
      // The previous daemon was killed while it wrote this record, which a creation does not wait
      // for. If there is a record of the sandbox's end, that stays.
      (void)records_.insert(record_of(*entry), Durability::kProcess);
    }
    QuotaLease lease = quotas_.adopt(entry->tenant, use_of(entry->info));
    book_.put(*std::move(entry), std::move(lease));
  }
  std::vector<SandboxRecord> lost;
  std::vector<std::string> lost_ids;
  for (SandboxRecord& record : alive) {
    if (!ids.contains(record.id)) {
      lost_ids.push_back(record.id);
      lost.push_back(std::move(record));
    }
  }
  KeeperEndings told = keeper_endings(lost_ids);
  if (!told.since && keeper_.responsive()) {
    // The keeper has gone since it said that these are not there: one that is ending says so.
    told.since = std::chrono::system_clock::now();
  }
  for (const SandboxRecord& record : lost) {
    if (auto entry = workspaces_.left_of(record)) {
      ids.insert(record.id);
      QuotaLease lease = quotas_.adopt(entry->tenant, use_of(entry->info));
      if (entry->info.saved.count > 0) {
        saved_disk_.put(record.id, quotas_.adopt(entry->tenant, disk_use(entry->info.saved)));
      }
      book_.put(*std::move(entry), std::move(lease));
    } else {
      end_record(record.tenant, record.id, told.of(record.id, record.created));
    }
  }
  workspaces_.sweep(ids);
  std::vector<std::string> tenants;
  for (const TenantRecord& tenant : tenants_->tenants()) {
    tenants.push_back(tenant.name);
  }
  GB_TRY(volumes_.adopt(tenants));
  settle_old_claims();
  return {};
}

void LocalService::watch() {
  const auto forget_every = std::clamp<std::chrono::milliseconds>(keep_records_ / 2, 1s, 1min);
  auto forgotten = now();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kLookEvery, [this] { return stopping_; })) {
        return;
      }
    }
    look_for_ended();
    take_happenings();
    settle_again();
    if (now() - forgotten >= forget_every) {
      forget_old();
      forgotten = now();
    }
  }
}

void LocalService::take_happenings() {
  if (!happened_) {
    return;
  }
  const auto told = keeper_.call("happenings", json::object());
  if (!told || !told->is_array()) {
    return;
  }
  for (const json& each : *told) {
    const auto text = [&each](const char* name) { return each.value(name, std::string()); };
    happened_({.tenant = text("tenant"),
               .sandbox = text("sandbox"),
               .action = text("action"),
               .subject = text("subject"),
               .result = text("result"),
               .details = text("details")});
  }
}

void LocalService::look_for_ended() {
  // Those that are made meanwhile are in neither list.
  const std::vector<SandboxEntry> known = book_.all();
  auto living = keeper_.probe();
  if (!living && living.error().code() == ErrorCode::kUnavailable && keeper_.responsive()) {
    ready_ = false;
    if (revive_()) {
      // Pools of a new keeper, whose predecessor took its sandboxes with it; or of the same one, if
      // only we could not reach it.
      warm_up();
      living = keeper_.probe();
    }
  }
  if (!living) {
    return;
  }
  std::vector<const SandboxEntry*> lost;
  std::vector<std::string> lost_ids;
  for (const SandboxEntry& entry : known) {
    const auto found = living->find(entry.info.id);
    if (found != living->end()) {
      if (found->is_boolean()) {
        book_.set_state_since(entry,
                              found->get<bool>() ? SandboxState::kPaused : SandboxState::kRunning);
      }
    } else if (sleeps_on_disk(entry.info)) {
      continue;  // Resumed meanwhile or not, nothing of it had to be in the keeper.
    } else if (const bool saving = is_being_saved(entry.info.id); !saving) {
      // It may have been saved since `known` was read, and its entry says so by now.
      const auto now = book_.find(entry.tenant, entry.info.id);
      if (!now || sleeps_on_disk(*now)) {
        continue;
      }
      lost.push_back(&entry);
      lost_ids.push_back(entry.info.id);
    }
  }
  if (lost.empty()) {
    return;
  }
  KeeperEndings told = keeper_endings(lost_ids);
  if (!told.since && keeper_.responsive()) {
    // The keeper has gone since it said that these are not there: one that is ending says so.
    told.since = std::chrono::system_clock::now();
  }
  for (const SandboxEntry* entry : lost) {
    lose(*entry, told.of(entry->info.id, entry->info.created));
  }
}

// Stores what must be known of it when the keeper is gone.
Result<void> LocalService::store_on_disk(const SandboxEntry& entry) {
  const SandboxRecord now = record_of(entry);
  const auto edit = [&now](SandboxRecord& record) -> Result<void> {
    record.expires = now.expires;
    record.pause_on_timeout = now.pause_on_timeout;
    record.auto_resume = now.auto_resume;
    record.metadata = now.metadata;
    record.network = now.network;
    record.extra = now.extra;
    record.storage = now.storage;
    return {};
  };
  (void)GB_TRY(records_.change(entry.tenant, entry.info.id, edit, Durability::kPower));
  return {};
}

Result<json> LocalService::call(std::string_view name, json arguments) {
  return keeper_.call(name, std::move(arguments));
}

Result<json> LocalService::call_about(const Caller& caller,
                                      std::string_view sandbox,
                                      std::string_view name,
                                      json arguments) {
  arguments["sandbox"] = sandbox;
  auto answer = keeper_.call(name, std::move(arguments));
  return answer ? std::move(answer) : explain(caller, sandbox, std::move(answer).error());
}

// A new keeper knows nothing of what its predecessor held; that is found out a moment later.
Error LocalService::explain(const Caller& caller, std::string_view sandbox, Error error) {
  if (error.code() != ErrorCode::kNotFound) {
    return error;
  }
  const auto known = book_.find(caller.tenant, sandbox);
  if (!known || !workspaces_.has(*known)) {
    return error;
  }
  const auto living = keeper_.probe();
  if (living && living->contains(sandbox)) {
    return error;  // The error is about something in it.
  }
  return {ErrorCode::kUnavailable, "sandbox '" + std::string(sandbox) + "' has stopped",
          "try again in a moment: its files are kept and it can be resumed"};
}

Result<SandboxInfo> LocalService::awake(const Caller& caller, std::string_view sandbox) {
  SandboxInfo info = GB_TRY(book_.find(caller.tenant, sandbox));
  if (info.state == SandboxState::kPaused) {
    if (!info.auto_resume) {
      return Error(ErrorCode::kConflict, "sandbox '" + info.id + "' is paused", "resume it");
    }
    return resume(caller, sandbox);
  }
  return info;
}

Result<json> LocalService::call_in(const Caller& caller,
                                   std::string_view sandbox,
                                   std::string_view name,
                                   json arguments) {
  (void)GB_TRY(awake(caller, sandbox));
  return call_about(caller, sandbox, name, std::move(arguments));
}

Result<Caller> LocalService::authenticate(std::string_view key) {
  KeyHolder holder = GB_TRY(tenants_->authenticate(key));
  GB_TRY(quotas_.count_request(holder.tenant));
  return Caller{.tenant = std::move(holder.tenant),
                .scopes = std::move(holder.scopes),
                .key = std::move(holder.key)};
}

Result<void> LocalService::admit(const Caller& caller, std::string_view) {
  return caller.key.empty() ? Result<void>() : tenants_->check_key(caller.key);
}

Result<void> LocalService::renew(const Caller& caller) {
  GB_TRY(admit(caller, {}));
  return quotas_.count_request(caller.tenant);
}

Caller LocalService::unix_peer() {
  return {.tenant = std::string(kDefaultTenant),
          .scopes = {Tenants::kScopes.begin(), Tenants::kScopes.end()}};
}

namespace {

Bearer bearer_of(SandboxEntry entry) {
  std::string id = entry.info.id;
  return {.caller = {.tenant = std::move(entry.tenant),
                     .scopes = {"run", "read"},
                     .key = {},
                     .sandbox = std::move(id)},
          .info = std::move(entry.info)};
}

}  // namespace

Result<Bearer> LocalService::bearer(std::string_view sandbox) {
  return bearer_of(GB_TRY(book_.entry(sandbox)));
}

std::vector<Bearer> LocalService::bearers() {
  std::vector<Bearer> bearers;
  for (SandboxEntry& entry : book_.all()) {
    bearers.push_back(bearer_of(std::move(entry)));
  }
  return bearers;
}

Result<SandboxInfo> LocalService::store(const SandboxEntry& entry) {
  if (entry.info.storage == Storage::kDisk || entry.info.saved.count > 0) {
    GB_TRY(store_on_disk(entry));
  }
  const auto said =
      keeper_.call("change", {{"sandbox", entry.info.id},
                              {"record", encode(entry)},
                              {"expires", keeper::to_ms(entry.info.expires)},
                              {"on_timeout", static_cast<int>(entry.info.on_timeout)}});
  SandboxInfo info = entry.info;
  if (said) {
    refresh(info, said.value());
  } else if (said.error().code() != ErrorCode::kNotFound || !workspaces_.has(info)) {
    return said.error();
  }
  book_.set(info);
  return info;
}

bool LocalService::ready() {
  if (!keeper_.responsive()) {
    return false;
  }
  if (!ready_) {
    const auto warm = keeper_.call("warm", json::object());
    ready_ = warm && warm->is_boolean() && warm->get<bool>();
  }
  return ready_;
}

Result<SandboxInfo> LocalService::find(const Caller& caller, std::string_view id) {
  return book_.find(caller.tenant, id);
}

Result<SandboxPage> LocalService::list(const Caller& caller, const SandboxQuery& query) {
  return book_.list(caller.tenant, query);
}

Result<std::string> LocalService::languages() {
  const Registry registry = Registry::load(Registry::user_directories());
  json list = json::array();
  for (const Language& language : registry.all()) {
    const Readiness ready = readiness(language);
    list.push_back({{"id", language.id},
                    {"names", language.names},
                    {"ready", ready.ready},
                    {"live", !language.agent.empty()},
                    {"package", language.package}});
  }
  return json{{"schema", schema_of("languages")}, {"languages", std::move(list)}}.dump();
}

}  // namespace glovebox
