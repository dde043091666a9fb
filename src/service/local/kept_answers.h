// SPDX-License-Identifier: Apache-2.0
// KeptAnswers: answers to requests with an idempotency key that are too large for the database,
// each in a file of its own, counted against its tenant's disk.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/tenants/quota_book.h"
#include "store/idempotency_records.h"

namespace glovebox {

// Safe to use from any thread.
class KeptAnswers {
 public:
  KeptAnswers(const std::string& directory, QuotaBook& quotas)
      : directory_(directory + "/answers"), quotas_(quotas) {}

  // `subject` is the claim's, and names the file. Fails if there is no room for it.
  Result<void> keep(const std::string& tenant, const std::string& subject, std::string_view answer);
  [[nodiscard]] Result<std::string> read(const std::string& subject) const;
  void remove(const std::string& subject);

  // Counts the answers of these claims, and removes all others. Must not run while an answer is
  // kept that is not recorded yet.
  void sweep(const std::vector<IdempotencyClaim>& claims);

 private:
  [[nodiscard]] std::string path(const std::string& subject) const {
    return directory_ + "/" + subject;
  }

  const std::string directory_;
  QuotaBook& quotas_;
  std::mutex mutex_;
  std::map<std::string, QuotaLease> leases_;  // By subject.
};

}  // namespace glovebox
