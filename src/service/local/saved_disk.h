// SPDX-License-Identifier: Apache-2.0
// SavedDisk: what the saved memory of each paused sandbox takes of its tenant's disk.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "service/tenants/quota_book.h"

namespace glovebox {

// Safe to use from any thread.
class SavedDisk {
 public:
  void put(const std::string& sandbox, QuotaLease lease) {
    const std::scoped_lock lock(mutex_);
    leases_.insert_or_assign(sandbox, std::move(lease));
  }
  void drop(std::string_view sandbox) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = leases_.find(sandbox); found != leases_.end()) {
      leases_.erase(found);
    }
  }

 private:
  std::mutex mutex_;  // Of what follows.
  std::map<std::string, QuotaLease, std::less<>> leases_;
};

}  // namespace glovebox
