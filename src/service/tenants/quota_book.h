// SPDX-License-Identifier: Apache-2.0
// QuotaBook: how much of its quotas each tenant uses now.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "service/tenants/token_bucket.h"
#include "store/tenant_records.h"

namespace glovebox {

using MonotonicClock = std::function<std::chrono::steady_clock::time_point()>;

// What one sandbox, or a tenant altogether, holds.
struct QuotaUse {
  std::uint64_t sandboxes = 0;
  Bytes memory;
  double cpus = 0;
  Bytes disk;
};

constexpr QuotaUse disk_use(Bytes disk) {
  return {.sandboxes = 0, .memory = {}, .cpus = 0, .disk = disk};
}

namespace detail {
struct QuotaLedger;
}

// Gives back at its end what was reserved. It may outlive the book.
class [[nodiscard]] QuotaLease {
 public:
  QuotaLease() = default;  // Holds nothing.
  QuotaLease(QuotaLease&& other) noexcept;
  QuotaLease& operator=(QuotaLease&& other) noexcept;
  QuotaLease(const QuotaLease&) = delete;
  QuotaLease& operator=(const QuotaLease&) = delete;
  ~QuotaLease();

  // Gives back its disk beyond `disk`.
  void shrink_disk(Bytes disk);

 private:
  friend class QuotaBook;
  QuotaLease(std::shared_ptr<detail::QuotaLedger> ledger, std::string tenant, QuotaUse use)
      : ledger_(std::move(ledger)), tenant_(std::move(tenant)), use_(use) {}
  void give_back(const QuotaUse& use);

  std::shared_ptr<detail::QuotaLedger> ledger_;
  std::string tenant_;
  QuotaUse use_;
};

// Safe to use from any thread.
class QuotaBook {
 public:
  using Quotas = std::function<TenantQuotas(std::string_view tenant)>;

  // `quotas` is asked at each reservation, so that a change holds at once for what comes.
  QuotaBook(Quotas quotas, MonotonicClock clock);

  // kExhausted, naming the quota that is used up; then nothing is reserved.
  Result<QuotaLease> reserve(std::string_view tenant, const QuotaUse& use);

  // Adds to what `lease` holds of its tenant's disk. kExhausted as above; then it is as before.
  Result<void> extend(QuotaLease& lease, Bytes disk);

  // Without checking the quotas: for what exists already when a starting daemon finds it.
  QuotaLease adopt(std::string_view tenant, const QuotaUse& use);

  // Counts one request. kExhausted, with the seconds to wait (Error::retry_after), over the rate.
  Result<void> count_request(std::string_view tenant);

  [[nodiscard]] QuotaUse used(std::string_view tenant) const;

 private:
  struct Rate {
    double rate;
    double burst;
    TokenBucket bucket;
  };

  Quotas quotas_;
  MonotonicClock clock_;
  std::shared_ptr<detail::QuotaLedger> ledger_;
  std::mutex rates_mutex_;
  std::map<std::string, Rate, std::less<>> rates_;  // Of tenants whose rate is limited.
};

}  // namespace glovebox
