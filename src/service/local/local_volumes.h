// SPDX-License-Identifier: Apache-2.0
// LocalVolumes: volumes as disk images in the data directory, mounted by the keeper.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "service/api/volume_service.h"
#include "service/keeper/client.h"
#include "service/keeper/held_images.h"
#include "service/tenants/quota_book.h"
#include "store/volume_records.h"

namespace glovebox {

// Safe to use from any thread.
class LocalVolumes final : public VolumeService {
 public:
  LocalVolumes(const std::string& directory,
               Database& database,
               QuotaBook& quotas,
               keeper::KeeperClient& keeper);

  // Counts the volumes that exist against their tenants, and removes images that belong to none.
  Result<void> adopt(const std::vector<std::string>& tenants);

  Result<VolumeInfo> create(const Caller& caller, const VolumeRequest& request) override;
  Result<std::vector<VolumeInfo>> list(const Caller& caller) override;
  Result<VolumeInfo> find(const Caller& caller, std::string_view volume) override;
  Result<void> remove(const Caller& caller, std::string_view volume) override;
  Result<FileClient> files(const Caller& caller,
                           std::string_view volume,
                           FileAccess access) override;
  Result<VolumeBearer> bearer(std::string_view tenant, std::string_view volume) override;

  // The images that a sandbox with these mounts is made with; names in `mounts` become ids.
  Result<std::vector<keeper::ImageOrder>> order(const Caller& caller,
                                                std::vector<VolumeMount>& mounts);

 private:
  [[nodiscard]] std::string path(std::string_view id) const;

  const std::string directory_;
  VolumeRecords records_;
  QuotaBook& quotas_;
  keeper::KeeperClient& keeper_;
  std::mutex mutex_;
  std::map<std::string, QuotaLease, std::less<>> leases_;  // By id.
};

}  // namespace glovebox
