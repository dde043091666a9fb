// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/quota_book.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "service/tenants/retry_after.h"

namespace glovebox {
namespace detail {

struct QuotaLedger {
  // Cpus are counted in thousandths: sums of fractions would not come back to zero.
  struct Entry {
    std::uint64_t sandboxes = 0;
    std::uint64_t memory = 0;
    std::uint64_t millicpus = 0;
    std::uint64_t disk = 0;
  };
  std::mutex mutex;
  std::map<std::string, Entry, std::less<>> entries;  // Without those that use nothing.
};

}  // namespace detail

namespace {

using Entry = detail::QuotaLedger::Entry;

constexpr double kMostCpus = 1e12;

std::uint64_t millicpus(double cpus) {
  return static_cast<std::uint64_t>(std::llround(std::clamp(cpus, 0.0, kMostCpus) * 1000));
}

// A sum that stops at the largest number, so that no wish becomes small by being too large.
std::uint64_t plus(std::uint64_t left, std::uint64_t right) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(left, right, &sum) ? UINT64_MAX : sum;
}

Entry entry_of(const QuotaUse& use) {
  return {use.sandboxes, use.memory.count, millicpus(use.cpus), use.disk.count};
}

Entry sum(const Entry& left, const Entry& right) {
  return {plus(left.sandboxes, right.sandboxes), plus(left.memory, right.memory),
          plus(left.millicpus, right.millicpus), plus(left.disk, right.disk)};
}

// What adopt() added beyond the range must not be subtracted below zero.
void subtract(Entry& from, const Entry& what) {
  from.sandboxes -= std::min(from.sandboxes, what.sandboxes);
  from.memory -= std::min(from.memory, what.memory);
  from.millicpus -= std::min(from.millicpus, what.millicpus);
  from.disk -= std::min(from.disk, what.disk);
}

Result<void> check(const Entry& wanted, const TenantQuotas& quotas) {
  const auto over = [](std::uint64_t value, const auto& quota) { return quota && value > *quota; };
  const auto count = [](const std::optional<Bytes>& bytes) {
    return bytes ? std::optional(bytes->count) : std::nullopt;
  };
  const auto refuse = [](const char* what) {
    return Error(ErrorCode::kExhausted,
                 std::string("the tenant's quota of ") + what + " is used up",
                 "end sandboxes that are no longer needed, or request smaller limits");
  };
  if (over(wanted.sandboxes, quotas.sandboxes)) {
    return refuse("sandboxes");
  }
  if (over(wanted.memory, count(quotas.memory))) {
    return refuse("memory");
  }
  if (quotas.cpus && wanted.millicpus > millicpus(*quotas.cpus)) {
    return refuse("cpus");
  }
  if (over(wanted.disk, count(quotas.disk))) {
    return refuse("disk");
  }
  return {};
}

}  // namespace

QuotaLease::QuotaLease(QuotaLease&& other) noexcept
    : ledger_(std::move(other.ledger_)), tenant_(std::move(other.tenant_)), use_(other.use_) {}

QuotaLease& QuotaLease::operator=(QuotaLease&& other) noexcept {
  std::swap(ledger_, other.ledger_);
  std::swap(tenant_, other.tenant_);
  std::swap(use_, other.use_);
  // What this one held goes back now, not when `other` ends.
  (void)QuotaLease(std::move(other));
  return *this;
}

QuotaLease::~QuotaLease() { give_back(use_); }

void QuotaLease::shrink_disk(Bytes disk) {
  if (disk.count < use_.disk.count) {
    give_back(disk_use(Bytes{use_.disk.count - disk.count}));
    use_.disk = disk;
  }
}

void QuotaLease::give_back(const QuotaUse& use) {
  if (ledger_ == nullptr) {
    return;
  }
  const std::scoped_lock lock(ledger_->mutex);
  const auto found = ledger_->entries.find(tenant_);
  if (found == ledger_->entries.end()) {
    return;
  }
  subtract(found->second, entry_of(use));
  const Entry& left = found->second;
  if (left.sandboxes == 0 && left.memory == 0 && left.millicpus == 0 && left.disk == 0) {
    ledger_->entries.erase(found);
  }
}

QuotaBook::QuotaBook(Quotas quotas, MonotonicClock clock)
    : quotas_(std::move(quotas)),
      clock_(std::move(clock)),
      ledger_(std::make_shared<detail::QuotaLedger>()) {}

Result<QuotaLease> QuotaBook::reserve(std::string_view tenant, const QuotaUse& use) {
  const TenantQuotas quotas = quotas_(tenant);
  const std::scoped_lock lock(ledger_->mutex);
  const auto found = ledger_->entries.find(tenant);
  const Entry before = found == ledger_->entries.end() ? Entry() : found->second;
  const Entry after = sum(before, entry_of(use));
  GB_TRY(check(after, quotas));
  ledger_->entries.insert_or_assign(std::string(tenant), after);
  return QuotaLease(ledger_, std::string(tenant), use);
}

Result<void> QuotaBook::extend(QuotaLease& lease, Bytes disk) {
  const TenantQuotas quotas = quotas_(lease.tenant_);
  const std::scoped_lock lock(ledger_->mutex);
  const auto found = ledger_->entries.find(lease.tenant_);
  const Entry before = found == ledger_->entries.end() ? Entry() : found->second;
  const Entry after = sum(before, entry_of(disk_use(disk)));
  // Only for disk: whatever else the tenant has over its quota does not matter here.
  Entry of_disk;
  of_disk.disk = after.disk;
  GB_TRY(check(of_disk, quotas));
  ledger_->entries.insert_or_assign(lease.tenant_, after);
  lease.use_.disk = Bytes{plus(lease.use_.disk.count, disk.count)};
  return {};
}

QuotaLease QuotaBook::adopt(std::string_view tenant, const QuotaUse& use) {
  const std::scoped_lock lock(ledger_->mutex);
  Entry& entry = ledger_->entries[std::string(tenant)];
  entry = sum(entry, entry_of(use));
  return {ledger_, std::string(tenant), use};
}

Result<void> QuotaBook::count_request(std::string_view tenant) {
  const TenantQuotas quotas = quotas_(tenant);
  const auto now = clock_();
  const std::scoped_lock lock(rates_mutex_);
  const auto found = rates_.find(tenant);
  if (!quotas.requests_per_second) {
    if (found != rates_.end()) {
      rates_.erase(found);
    }
    return {};
  }
  // A rate of nothing counts as one request a day, which can be divided by.
  const double rate = std::max(*quotas.requests_per_second, 1.0 / 86'400);
  const double burst = std::max(quotas.burst.value_or(rate), 1.0);
  Rate& limit =
      found != rates_.end()
          ? found->second
          : rates_.emplace(std::string(tenant), Rate{rate, burst, TokenBucket(rate, burst, now)})
                .first->second;
  if (limit.rate != rate || limit.burst != burst) {
    limit.bucket.change(rate, burst, now);
    limit.rate = rate;
    limit.burst = burst;
  }
  const std::chrono::nanoseconds wait = limit.bucket.take(now);
  if (wait.count() > 0) {
    return exhausted("the tenant's quota of requests per second is used up", wait);
  }
  return {};
}

QuotaUse QuotaBook::used(std::string_view tenant) const {
  const std::scoped_lock lock(ledger_->mutex);
  const auto found = ledger_->entries.find(tenant);
  if (found == ledger_->entries.end()) {
    return {};
  }
  const Entry& entry = found->second;
  return {entry.sandboxes, Bytes{entry.memory}, static_cast<double>(entry.millicpus) / 1000,
          Bytes{entry.disk}};
}

}  // namespace glovebox
