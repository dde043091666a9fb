// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/tenants.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "service/tenants/first_key.h"

namespace glovebox {
namespace {

constexpr std::size_t kShownCharacters = 4;

Result<void> check_scopes(const std::vector<std::string>& scopes) {
  const bool known = std::all_of(scopes.begin(), scopes.end(), [](const std::string& scope) {
    return std::find(std::begin(Tenants::kScopes), std::end(Tenants::kScopes), scope) !=
           std::end(Tenants::kScopes);
  });
  if (scopes.empty() || scopes.size() > std::size(Tenants::kScopes) || !known) {
    return Error(ErrorCode::kInvalid, "invalid key scopes",
                 "use one or more of run, read, admin and approve");
  }
  return {};
}

Error no_valid_key() {
  return {ErrorCode::kRefused, "invalid API key",
          "pass a valid key in the Authorization (Bearer) or X-API-KEY header"};
}

bool valid_at(const ApiKeyRecord& record, SystemTime now) {
  return !record.revoked && (!record.expires || now < *record.expires);
}

ApiKeyRecord record_of(std::string_view key,
                       std::string_view tenant,
                       std::vector<std::string> scopes,
                       SystemTime created) {
  const ApiKeyHash hash = hash_of_api_key(key);
  ApiKeyRecord record;
  record.id = id_of_api_key(key).value();
  record.tenant = tenant;
  record.hash.assign(hash.begin(), hash.end());
  record.scopes = std::move(scopes);
  record.last_four = key.substr(key.size() - kShownCharacters);
  record.created = created;
  return record;
}

}  // namespace

Result<void> check_tenant_name(std::string_view name) {
  if (name.empty() || name.size() > 64 ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != std::string_view::npos) {
    return Error(ErrorCode::kInvalid, "invalid tenant name '" + printable(name.substr(0, 64)) + "'",
                 "use 1 to 64 characters from a-z, 0-9, '-' and '_'");
  }
  return {};
}

Result<std::unique_ptr<Tenants>> Tenants::open(Database& database, WallClock clock) {
  std::unique_ptr<Tenants> tenants(new Tenants(database, std::move(clock)));
  GB_TRY(tenants->load());
  return tenants;
}

Result<void> Tenants::load() {
  for (const ApiKeyRecord& record : GB_TRY(key_records_.all())) {
    remember(record);
  }
  for (TenantRecord& record : GB_TRY(tenant_records_.all())) {
    tenants_.emplace(record.name, std::move(record));
  }
  return {};
}

void Tenants::remember(const ApiKeyRecord& record) {
  Key& key = keys_[record.id];
  // The schema holds hashes of this size only.
  GB_CHECK(record.hash.size() == key.hash.size());
  std::copy(record.hash.begin(), record.hash.end(), key.hash.begin());
  key.record = record;
}

Result<KeyHolder> Tenants::authenticate(std::string_view key) const {
  // Text that does not have the form of a key is hashed and compared too, as nobody's. It is cut,
  // so that a long one costs no more than a key.
  constexpr std::size_t kMost = 68;
  const ApiKeyHash hash = hash_of_api_key(key.substr(0, kMost));
  const std::string id(id_of_api_key(key).value_or(""));
  const SystemTime now = clock_();
  const std::shared_lock lock(mutex_);
  // The time taken may show that an id exists; ids are not secret.
  const auto found = keys_.find(id);
  static constexpr ApiKeyHash kNobodys{};
  const bool same = same_hash(hash, found == keys_.end() ? kNobodys : found->second.hash);
  if (!same || found == keys_.end() || !valid_at(found->second.record, now)) {
    return no_valid_key();
  }
  found->second.used->store(now.time_since_epoch().count(), std::memory_order_relaxed);
  return KeyHolder{.tenant = found->second.record.tenant,
                   .scopes = found->second.record.scopes,
                   .key = id};
}

Result<void> Tenants::check_key(std::string_view id) const {
  const SystemTime now = clock_();
  const std::shared_lock lock(mutex_);
  const auto found = keys_.find(std::string(id));
  return found != keys_.end() && valid_at(found->second.record, now) ? Result<void>()
                                                                     : Result<void>(no_valid_key());
}

Result<bool> Tenants::make_first_key(const std::string& path) {
  const std::scoped_lock changing(changing_);
  {
    const std::shared_lock lock(mutex_);
    if (!keys_.empty()) {
      return false;
    }
  }
  // The file first: a start that dies in between finds the key there again, while nobody would know
  // a key that only the database has.
  const std::string key = GB_TRY(make_key_file(path));
  const ApiKeyRecord record =
      record_of(key, kDefaultTenant, {std::begin(kScopes), std::end(kScopes)}, clock_());
  GB_TRY(key_records_.insert(record));
  const std::unique_lock lock(mutex_);
  remember(record);
  return true;
}

Result<NewApiKey> Tenants::draft(std::string_view tenant,
                                 std::vector<std::string> scopes,
                                 std::optional<SystemTime> expires) const {
  const SystemTime now = clock_();
  {
    const std::shared_lock lock(mutex_);
    const auto count = std::count_if(keys_.begin(), keys_.end(), [&](const auto& pair) {
      return pair.second.record.tenant == tenant && valid_at(pair.second.record, now);
    });
    if (static_cast<std::size_t>(count) >= kMostKeysOfTenant) {
      return Error(ErrorCode::kExhausted, "the tenant has too many API keys",
                   "revoke keys that are no longer used");
    }
  }
  NewApiKey made;
  made.key = make_api_key();
  made.record = record_of(made.key, tenant, std::move(scopes), now);
  made.record.expires = expires;
  return made;
}

Result<NewApiKey> Tenants::create_key(std::string_view tenant,
                                      const std::vector<std::string>& scopes,
                                      std::optional<SystemTime> expires) {
  GB_TRY(check_scopes(scopes));
  const std::scoped_lock changing(changing_);
  NewApiKey made = GB_TRY(draft(tenant, scopes, expires));
  GB_TRY(key_records_.insert(made.record));
  const std::unique_lock lock(mutex_);
  remember(made.record);
  return made;
}

Result<NewApiKey> Tenants::rotate_key(std::string_view tenant,
                                      std::string_view id,
                                      std::chrono::seconds grace) {
  // A longer overlap would mean two keys, not a rotation; the bound also keeps the sum in range.
  if (grace < std::chrono::seconds(0) || grace > std::chrono::days(30)) {
    return Error(ErrorCode::kInvalid, "the old key can keep working for at most 30 days",
                 "choose a shorter 'overlap'");
  }
  const std::scoped_lock changing(changing_);
  const SystemTime now = clock_();
  ApiKeyRecord old;
  {
    const std::shared_lock lock(mutex_);
    const auto found = keys_.find(std::string(id));
    if (found == keys_.end() || found->second.record.tenant != tenant) {
      return Error(ErrorCode::kNotFound, "no such API key", "list the keys with GET /v1/keys");
    }
    old = found->second.record;
  }
  if (!valid_at(old, now)) {
    return Error(ErrorCode::kConflict, "the API key is no longer valid", "create a new one");
  }
  NewApiKey made = GB_TRY(draft(tenant, old.scopes, old.expires));
  GB_TRY(key_records_.rotate(id, now + grace, made.record));
  old.expires = old.expires ? std::min(*old.expires, now + grace) : now + grace;
  const std::unique_lock lock(mutex_);
  remember(old);
  remember(made.record);
  return made;
}

Result<void> Tenants::revoke_key(std::string_view tenant, std::string_view id) {
  const std::scoped_lock changing(changing_);
  const SystemTime now = clock_();
  GB_TRY(key_records_.revoke(tenant, id, now));
  const std::unique_lock lock(mutex_);
  const auto found = keys_.find(std::string(id));
  if (found != keys_.end() && !found->second.record.revoked) {
    found->second.record.revoked = now;
  }
  return {};
}

Result<std::vector<ApiKeyRecord>> Tenants::keys(std::string_view tenant) const {
  const std::shared_lock lock(mutex_);
  if (!tenants_.contains(tenant)) {
    return Error(ErrorCode::kNotFound, "no such tenant", "list the tenants with GET /v1/tenants");
  }
  std::vector<ApiKeyRecord> records;
  for (const auto& [id, key] : keys_) {
    if (key.record.tenant == tenant) {
      records.push_back(key.record);
      records.back().hash.clear();
    }
  }
  std::sort(records.begin(), records.end(), [](const auto& left, const auto& right) {
    return std::tie(left.created, left.id) < std::tie(right.created, right.id);
  });
  return records;
}

Result<std::string> Tenants::tenant_of_key(std::string_view id) const {
  const std::shared_lock lock(mutex_);
  const auto found = keys_.find(std::string(id));
  if (found == keys_.end()) {
    return Error(ErrorCode::kNotFound, "no such API key", "list the keys with GET /v1/keys");
  }
  return found->second.record.tenant;
}

std::optional<SystemTime> Tenants::last_use(std::string_view id) const {
  const std::shared_lock lock(mutex_);
  const auto found = keys_.find(std::string(id));
  const SystemTime::rep used =
      found == keys_.end() ? 0 : found->second.used->load(std::memory_order_relaxed);
  return used == 0 ? std::nullopt : std::optional(SystemTime(SystemTime::duration(used)));
}

Result<void> Tenants::create_tenant(std::string_view name, const TenantQuotas& quotas) {
  GB_TRY(check_tenant_name(name));
  const std::scoped_lock changing(changing_);
  if (tenants_.contains(std::string(name))) {
    return Error(ErrorCode::kConflict, "tenant '" + std::string(name) + "' already exists",
                 "choose another name, or change the quotas of this one");
  }
  TenantRecord record{.name = std::string(name), .created = clock_(), .quotas = quotas};
  GB_TRY(tenant_records_.insert(record));
  const std::unique_lock lock(mutex_);
  tenants_.insert_or_assign(record.name, record);
  return {};
}

Result<void> Tenants::set_quotas(std::string_view name, const TenantQuotas& quotas) {
  const std::scoped_lock changing(changing_);
  GB_TRY(tenant_records_.set_quotas(name, quotas));
  const std::unique_lock lock(mutex_);
  const auto found = tenants_.find(name);
  if (found != tenants_.end()) {
    found->second.quotas = quotas;
  }
  return {};
}

Result<void> Tenants::remove_tenant(std::string_view name) {
  if (name == kDefaultTenant) {
    return Error(ErrorCode::kConflict, "the default tenant cannot be removed",
                 "revoke its keys instead");
  }
  const std::scoped_lock changing(changing_);
  GB_TRY(tenant_records_.remove(name));
  const std::unique_lock lock(mutex_);
  std::erase_if(keys_, [&](const auto& pair) { return pair.second.record.tenant == name; });
  const auto found = tenants_.find(name);
  if (found != tenants_.end()) {
    tenants_.erase(found);
  }
  return {};
}

std::vector<TenantRecord> Tenants::tenants() const {
  const std::shared_lock lock(mutex_);
  std::vector<TenantRecord> records;
  for (const auto& [name, record] : tenants_) {
    records.push_back(record);
  }
  return records;
}

TenantQuotas Tenants::quotas(std::string_view tenant) const {
  const std::shared_lock lock(mutex_);
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? TenantQuotas() : found->second.quotas;
}

}  // namespace glovebox
