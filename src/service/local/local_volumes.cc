// SPDX-License-Identifier: Apache-2.0
#include "service/local/local_volumes.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/json/json.h"
#include "base/random.h"
#include "base/text.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestVolumeName = 128;
constexpr std::size_t kMostVolumes = 1'000;  // Of a tenant.

Result<void> check_volume_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (name.empty() || name.size() > kLongestVolumeName || !std::ranges::all_of(name, fits) ||
      name == "." || name == "..") {
    return Error(ErrorCode::kInvalid, "invalid volume name '" + printable(name) + "'",
                 "use 1 to 128 letters, digits, '.', '_' or '-'");
  }
  return {};
}

VolumeInfo info_of(const VolumeRecord& record) {
  return {.id = record.id,
          .name = record.name,
          .size = record.size,
          .inodes = record.inodes,
          .secret = record.secret,
          .created = record.created};
}

QuotaUse use_of(Bytes size) { return {.sandboxes = 0, .memory = {}, .cpus = 0, .disk = size}; }

}  // namespace

LocalVolumes::LocalVolumes(const std::string& directory,
                           Database& database,
                           QuotaBook& quotas,
                           keeper::KeeperClient& keeper)
    : directory_(directory + "/volumes"), records_(database), quotas_(quotas), keeper_(keeper) {}

std::string LocalVolumes::path(std::string_view id) const {
  return directory_ + "/" + std::string(id) + ".img";
}

Result<void> LocalVolumes::adopt(const std::vector<std::string>& tenants) {
  std::set<std::string> known;
  for (const std::string& tenant : tenants) {
    for (const VolumeRecord& record : GB_TRY(records_.of_tenant(tenant))) {
      known.insert(path(record.id));
      leases_.insert_or_assign(record.id, quotas_.adopt(tenant, use_of(record.size)));
    }
  }
  // Images of a daemon that died before it had recorded them.
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, none)) {
    if (!known.contains(entry.path().string())) {
      (void)keeper_.call("remove_image", {{"image", entry.path().string()}});
    }
  }
  return {};
}

Result<VolumeInfo> LocalVolumes::create(const Caller& caller, const VolumeRequest& request) {
  GB_TRY(check_volume_name(request.name));
  if (GB_TRY(records_.of_tenant(caller.tenant)).size() >= kMostVolumes) {
    return Error(ErrorCode::kExhausted,
                 "a tenant can have at most " + std::to_string(kMostVolumes) + " volumes",
                 "remove one that is no longer needed");
  }
  const auto before = records_.find(caller.tenant, request.name);
  if (before && before->name == request.name) {
    return Error(ErrorCode::kConflict, "volume '" + request.name + "' already exists");
  }
  QuotaLease lease = GB_TRY(quotas_.reserve(caller.tenant, use_of(request.size)));
  const VolumeRecord record{.tenant = caller.tenant,
                            .name = request.name,
                            .id = random_name(),
                            .size = request.size,
                            .inodes = request.inodes,
                            .secret = random_name(),
                            .created = std::chrono::system_clock::now()};
  (void)GB_TRY(keeper_.call(
      "make_image",
      {{"image", path(record.id)}, {"size", request.size.count}, {"inodes", request.inodes}}));
  if (auto recorded = records_.insert(record); !recorded) {
    (void)keeper_.call("remove_image", {{"image", path(record.id)}});
    return std::move(recorded).error();
  }
  const std::scoped_lock lock(mutex_);
  leases_.insert_or_assign(record.id, std::move(lease));
  return info_of(record);
}

Result<std::vector<VolumeInfo>> LocalVolumes::list(const Caller& caller) {
  std::vector<VolumeInfo> volumes;
  for (const VolumeRecord& record : GB_TRY(records_.of_tenant(caller.tenant))) {
    volumes.push_back(info_of(record));
  }
  return volumes;
}

Result<VolumeInfo> LocalVolumes::find(const Caller& caller, std::string_view volume) {
  return info_of(GB_TRY(records_.find(caller.tenant, volume)));
}

Result<void> LocalVolumes::remove(const Caller& caller, std::string_view volume) {
  const VolumeRecord record = GB_TRY(records_.find(caller.tenant, volume));
  // The keeper knows who has it; from then on nobody gets it any more.
  auto removed = keeper_.call("remove_image", {{"image", path(record.id)}});
  if (!removed) {
    return std::move(removed).error().within("remove the volume '" + record.name + "'");
  }
  GB_TRY(records_.remove(caller.tenant, record.id));
  const std::scoped_lock lock(mutex_);
  leases_.erase(record.id);
  return {};
}

Result<FileClient> LocalVolumes::files(const Caller& caller, std::string_view volume, FileAccess) {
  const VolumeRecord record = GB_TRY(records_.find(caller.tenant, volume));
  std::vector<UniqueFd> passed;
  (void)GB_TRY(keeper_.call("image_files", {{"image", path(record.id)}}, {}, &passed));
  if (passed.empty()) {
    return Error(ErrorCode::kUnavailable, "the keeper did not pass a socket");
  }
  return FileClient(std::move(passed.front()));
}

Result<VolumeBearer> LocalVolumes::bearer(std::string_view tenant, std::string_view volume) {
  VolumeInfo info = info_of(GB_TRY(records_.find(std::string(tenant), volume)));
  Caller caller{.tenant = std::string(tenant),
                .scopes = {"run", "read"},
                .key = {},
                .sandbox = {},
                .volume = info.id};
  return VolumeBearer{.caller = std::move(caller), .info = std::move(info)};
}

Result<std::vector<keeper::ImageOrder>> LocalVolumes::order(const Caller& caller,
                                                            std::vector<VolumeMount>& mounts) {
  std::vector<keeper::ImageOrder> orders;
  for (VolumeMount& mount : mounts) {
    auto record = records_.find(caller.tenant, mount.volume);
    if (!record && record.error().code() == ErrorCode::kNotFound) {
      // Not "not found": that would be the template.
      return Error(ErrorCode::kInvalid, "volume '" + printable(mount.volume) + "' does not exist",
                   "create it first");
    }
    if (!record) {
      return std::move(record).error();
    }
    mount.volume = record->id;
    orders.push_back(
        {.image = path(record->id), .target = mount.path, .read_only = mount.read_only});
  }
  return orders;
}

}  // namespace glovebox
