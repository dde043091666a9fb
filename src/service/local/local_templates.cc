// SPDX-License-Identifier: Apache-2.0
#include "service/local/local_templates.h"

#include <set>
#include <utility>

#include "base/json/json.h"
#include "service/keeper/build_json.h"
#include "service/local/kinds.h"
#include "service/local/local_workspaces.h"
#include "service/templates/recipe.h"
#include "volume/image_pool.h"

namespace glovebox {
namespace {

using nlohmann::json;

TemplateParts parts_of_kind(const Kind& kind) {
  TemplateParts parts;
  parts.home = kind.home;
  parts.user = kind.user;
  return parts;
}

// What is not a name counts as the name of a policy that nobody knows.
std::vector<std::string> policies_of(const TemplateRecord& record) {
  const json settings = json::parse(record.settings, nullptr, false);
  std::vector<std::string> names;
  if (settings.is_object()) {
    for (const json& name : settings.value("policies", json::array())) {
      names.push_back(name.is_string() ? name.get<std::string>() : std::string());
    }
  }
  return names;
}

// The pieces that a record names: what its sandboxes are made of, and a snapshot's own files.
std::set<std::string> pieces_of(const TemplateRecord& record) {
  std::set<std::string> keys;
  if (const auto parts = LocalTemplates::parts_of(record)) {
    const std::vector<std::string> named = parts->keys();
    keys.insert(named.begin(), named.end());
    keys.insert(parts->cache.begin(), parts->cache.end());
  }
  if (record.source == "snapshot") {
    keys.insert(record.content_hash);
  }
  return keys;
}

}  // namespace

LocalTemplates::LocalTemplates(std::string directory,
                               Database& database,
                               QuotaBook& quotas,
                               MemoryPressure& pressure,
                               LocalSecrets& secrets,
                               keeper::KeeperClient& keeper,
                               NetworkPolicy network,
                               InUse in_use)
    : directory_(std::move(directory)),
      contents_(ContentStore::at(directory_ + "/templates")),
      records_(database),
      uploads_(directory_, quotas),
      build_records_(database),
      quotas_(quotas),
      pressure_(pressure),
      secrets_(secrets),
      keeper_(keeper),
      network_(network),
      in_use_(std::move(in_use)) {}

std::optional<TemplateParts> LocalTemplates::parts_of(const TemplateRecord& record) {
  const json settings = json::parse(record.settings, nullptr, false);
  return settings.is_object() && settings.contains("parts") ? to_parts(settings["parts"])
                                                            : std::nullopt;
}

json LocalTemplates::settings_of_snapshot(const TemplateParts& parts) {
  TemplateParts without = parts;
  without.files.clear();
  without.cache.clear();
  return {{"parts", parts_json(without)}};
}

keeper::TemplateOrder LocalTemplates::order(std::string_view tenant,
                                            const TemplateParts& parts) const {
  if (parts.keys().empty() && parts.preload.empty()) {
    return {};
  }
  keeper::TemplateOrder order;
  order.tenant = tenant;
  order.root = parts.root.empty() ? "" : contents_.path_of(parts.root) + "/root";
  PackageView packages = view_packages(parts, contents_, {});
  order.mounts = std::move(packages.mounts);
  order.env = std::move(packages.env);
  order.preload = parts.preload;
  order.directory = parts.image.directory;
  for (const std::string& key : parts.keys()) {
    // The workspace's files are copied, and not needed after that.
    if (key != parts.files) {
      order.contents.push_back(contents_.path_of(key));
    }
  }
  return order;
}

Environment LocalTemplates::environment(const TemplateParts& parts) const {
  return view_packages(parts, contents_, parts.env).env;
}

std::string LocalTemplates::image_user(const TemplateParts& parts) {
  return parts.root.empty() ? std::string() : parts.image.other_than_root();
}

std::string LocalTemplates::archive(const TemplateParts& parts) const {
  return parts.files.empty() ? "" : contents_.path_of(parts.files) + "/home.tar";
}

Result<LocalTemplates::BuildBase> LocalTemplates::base_of(const Caller& caller,
                                                          const std::string& name) {
  if (const auto kind = find_kind(name == "host" ? "default" : name)) {
    return BuildBase{.parts = parts_of_kind(*kind)};
  }
  const TemplateRecord record = GB_TRY(records_.find(caller.tenant, name));
  if (auto parts = parts_of(record); parts && record.source != "snapshot") {
    return BuildBase{.parts = *std::move(parts), .policies = policies_of(record)};
  }
  return Error(ErrorCode::kInvalid,
               "a template cannot be built on '" + name + "', which is a snapshot",
               "set 'base' to the template that its sandbox was created from");
}

Result<TemplateInfo> LocalTemplates::info_of(const TemplateRecord& record) const {
  TemplateInfo info{.name = record.name,
                    .builtin = false,
                    .source = record.source,
                    .base = record.made_from,
                    .content = record.content_hash,
                    .build = {},
                    .created = record.created,
                    .size = 0,
                    .parts = {},
                    .policies = policies_of(record)};
  const json settings = json::parse(record.settings, nullptr, false);
  if (settings.is_object() && settings.contains("size") && settings["size"].is_number_unsigned()) {
    info.size = settings["size"].get<std::uint64_t>();
  }
  if (settings.is_object() && settings.contains("build") && settings["build"].is_string()) {
    info.build = settings["build"].get<std::string>();
  }
  if (auto parts = parts_of(record)) {
    info.parts = *std::move(parts);
  } else if (const auto kind = find_kind(record.made_from)) {
    info.parts = parts_of_kind(*kind);
  }
  return info;
}

Result<std::vector<std::pair<std::string, QuotaLease>>> LocalTemplates::charge(
    const std::string& tenant, const std::map<std::string, std::uint64_t>& sizes) {
  std::vector<std::pair<std::string, QuotaLease>> counted;
  const std::scoped_lock lock(charging_);
  for (const auto& [key, size] : sizes) {
    if (!charges_.has({tenant, key})) {
      DiskBudget budget = GB_TRY(DiskBudget::begin(quotas_, tenant, directory_));
      GB_TRY(budget.spend(size));
      counted.emplace_back(key, std::move(budget).settle(size));
    }
  }
  return counted;
}

Result<void> LocalTemplates::put(const TemplateRecord& record,
                                 std::vector<std::pair<std::string, QuotaLease>> counted) {
  const std::scoped_lock lock(charging_);
  GB_TRY(records_.put(record));
  for (auto& [key, lease] : counted) {
    charges_.keep({record.tenant, key}, std::move(lease));
  }
  return {};
}

std::uint64_t LocalTemplates::size_of(const TemplateRecord& record, const std::string& key) const {
  if (record.source == "snapshot" && key == record.content_hash) {
    return image_use(directory_ + "/snapshots/" + key);
  }
  const json settings = json::parse(record.settings, nullptr, false);
  const json sizes = settings.is_object() ? settings.value("sizes", json::object()) : json();
  const auto known = sizes.find(key);
  if (known != sizes.end() && known->is_number_unsigned()) {
    return known->get<std::uint64_t>();
  }
  return disk_use_of(directory_ + "/templates/" + key);
}

void LocalTemplates::recount() {
  const std::scoped_lock lock(charging_);
  const auto records = records_.all();
  if (!records) {
    return;
  }
  std::set<StorageCharges::Item> named;
  for (const TemplateRecord& record : *records) {
    for (const std::string& key : pieces_of(record)) {
      const StorageCharges::Item item(record.tenant, key);
      named.insert(item);
      if (!charges_.has(item)) {
        charges_.keep(item, quotas_.adopt(record.tenant, disk_use(Bytes{size_of(record, key)})));
      }
    }
  }
  charges_.retain(named);
}

Result<TemplateInfo> LocalTemplates::find(const Caller& caller, std::string_view name) {
  if (const auto kind = find_kind(name)) {
    return TemplateInfo{.name = std::string(name),
                        .builtin = true,
                        .source = "host",
                        .base = {},
                        .content = {},
                        .build = {},
                        .created = {},
                        .size = 0,
                        .parts = parts_of_kind(*kind),
                        .policies = {}};
  }
  return info_of(GB_TRY(records_.find(caller.tenant, name)));
}

Result<std::vector<TemplateInfo>> LocalTemplates::list(const Caller& caller) {
  std::vector<TemplateInfo> infos;
  for (const std::string& name : kind_names()) {
    infos.push_back(GB_TRY(find(caller, name)));
  }
  for (const TemplateRecord& record : GB_TRY(records_.visible_to(caller.tenant))) {
    infos.push_back(GB_TRY(info_of(record)));
  }
  return infos;
}

Result<TemplateInfo> LocalTemplates::tag(const Caller& caller,
                                         std::string_view name,
                                         const std::vector<std::string>& tags) {
  const std::string plain(without_tag(name));
  if (find_kind(plain)) {
    return Error(ErrorCode::kConflict, "'" + plain + "' is a built-in template",
                 "only templates that were built, and snapshots, have tags");
  }
  std::vector<std::string> names;
  std::vector<TemplateRecord> before;
  for (const std::string& tag : tags) {
    names.push_back(tag == "default" ? plain : plain + ":" + tag);
    GB_TRY(check_template_name(names.back()));
    if (auto replaced = records_.find(caller.tenant, names.back())) {
      before.push_back(*std::move(replaced));
    }
  }
  GB_TRY(records_.copy(
      caller.tenant, name, names,
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now())));
  for (const TemplateRecord& replaced : before) {
    if (replaced.source == "snapshot") {
      remove_unused_snapshot(replaced.content_hash);
    }
  }
  sweep();
  return find(caller, name);
}

void LocalTemplates::remove_unused_snapshot(const std::string& content) {
  const auto used = records_.uses_content(content);
  if (used && !*used) {
    remove_snapshot(keeper_, directory_ + "/snapshots/" + content);
  }
}

Result<void> LocalTemplates::remove(const Caller& caller, std::string_view name) {
  if (find_kind(name)) {
    return Error(ErrorCode::kConflict, "'" + std::string(name) + "' is a built-in template",
                 "only templates that were built, and snapshots, can be removed");
  }
  const TemplateRecord record = GB_TRY(records_.find(caller.tenant, name));
  GB_TRY(records_.remove(caller.tenant, name));
  if (record.source == "snapshot") {
    remove_unused_snapshot(record.content_hash);
  }
  sweep();
  return {};
}

Result<void> LocalTemplates::take_over() {
  uploads_.adopt();
  return build_records_.fail_all_under_way(
      "the daemon stopped during the template build; build it again");
}

void LocalTemplates::sweep() {
  uploads_.sweep();
  recount();
  const auto records = records_.all();
  if (!records) {
    return;
  }
  std::set<std::string> named;
  for (const TemplateRecord& record : *records) {
    named.merge(pieces_of(record));
  }
  // A sandbox that lives holds what it uses; one that sleeps on disk cannot, and will want it
  // again.
  std::set<std::string> used = in_use_();
  used.insert(named.begin(), named.end());
  (void)keeper_.call("sweep_contents", {{"named", named}, {"used", used}});
}

}  // namespace glovebox
