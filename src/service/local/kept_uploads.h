// SPDX-License-Identifier: Apache-2.0
// KeptUploads: files that clients send ahead of the builds that copy them, each in a file of its
// own, counted against its tenant's disk.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "files/file_client.h"
#include "service/tenants/quota_book.h"

namespace glovebox {

// Safe to use from any thread.
class KeptUploads {
 public:
  // How many a tenant may have at once; one more replaces the oldest.
  static constexpr std::size_t kMost = 64;
  // How long they stay.
  static constexpr std::chrono::hours kKept{1};

  KeptUploads(const std::string& directory, QuotaBook& quotas)
      : directory_(directory + "/uploads"), quotas_(quotas) {}

  // Replaces an earlier one of that name. Fails if there is no room for it, and as `source` does.
  Result<void> keep(const std::string& tenant,
                    std::string_view name,
                    const FileClient::Source& source);
  // For reading. kNotFound if there is none, or it is too old.
  Result<UniqueFd> open(const std::string& tenant, std::string_view name);

  // Call it once, before all else: counts the uploads of an earlier daemon.
  void adopt();
  void sweep();

 private:
  using Clock = std::chrono::system_clock;
  struct Upload {
    Clock::time_point at;
    QuotaLease lease;
  };
  // By tenant and the hash of its name, which together name its file, too.
  using Key = std::pair<std::string, std::string>;

  [[nodiscard]] std::string path(const Key& key) const {
    return directory_ + "/" + key.second + "." + key.first;
  }
  void drop(std::map<Key, Upload>::iterator upload);
  void drop_old(Clock::time_point now);
  void make_room(const std::string& tenant);

  const std::string directory_;
  QuotaBook& quotas_;
  std::mutex mutex_;
  std::map<Key, Upload> uploads_;
};

}  // namespace glovebox
