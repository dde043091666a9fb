// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/quota_book.h"

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/tenants/retry_after.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr QuotaUse kOne{1, 512_MiB, 0.1, 1_GiB};

class QuotaBookTest : public ::testing::Test {
 protected:
  Result<QuotaLease> reserve(const QuotaUse& use = kOne, const std::string& tenant = "a") {
    return book_.reserve(tenant, use);
  }
  // How many of `tries` requests are let through now.
  int requests(int tries, const std::string& tenant = "a") {
    int through = 0;
    for (int i = 0; i < tries; ++i) {
      through += book_.count_request(tenant) ? 1 : 0;
    }
    return through;
  }

  std::map<std::string, TenantQuotas, std::less<>> quotas_;
  std::chrono::steady_clock::time_point now_{};
  QuotaBook book_{[this](std::string_view tenant) {
                    const auto found = quotas_.find(tenant);
                    return found == quotas_.end() ? TenantQuotas() : found->second;
                  },
                  [this] { return now_; }};
};

TEST_F(QuotaBookTest, ALeaseGivesBackAllThatItTook) {
  {
    const QuotaLease lease = reserve().value();
    EXPECT_EQ(book_.used("a").sandboxes, 1U);
    EXPECT_EQ(book_.used("a").memory, 512_MiB);
    EXPECT_EQ(book_.used("a").cpus, 0.1);
    EXPECT_EQ(book_.used("a").disk, 1_GiB);
  }
  EXPECT_EQ(book_.used("a").sandboxes, 0U);
  EXPECT_EQ(book_.used("a").cpus, 0);
}

TEST_F(QuotaBookTest, EachQuotaIsReachedAndNeverPassed) {
  const std::vector<std::pair<TenantQuotas, std::string>> cases = {
      {{.sandboxes = 3}, "sandboxes"},
      {{.memory = Bytes{(512_MiB).count * 3}}, "memory"},
      {{.cpus = 0.3}, "cpus"},
      {{.disk = 3_GiB}, "disk"}};
  for (const auto& [quotas, name] : cases) {
    quotas_["a"] = quotas;
    std::vector<QuotaLease> leases;
    for (int i = 0; i < 3; ++i) {
      auto lease = reserve();
      ASSERT_TRUE(lease) << name;
      leases.push_back(std::move(lease).value());
    }
    const auto fourth = reserve();
    ASSERT_FALSE(fourth) << name;
    EXPECT_EQ(fourth.error().code(), ErrorCode::kExhausted);
    EXPECT_THAT(fourth.error().message(), ::testing::HasSubstr("of " + name));
    EXPECT_EQ(book_.used("a").sandboxes, 3U);
    leases.pop_back();
    EXPECT_TRUE(reserve()) << name;
  }
}

TEST_F(QuotaBookTest, OneTenantsUseIsNotAnothers) {
  quotas_["a"].sandboxes = 1;
  quotas_["b"].sandboxes = 1;
  const QuotaLease first = reserve(kOne, "a").value();
  EXPECT_TRUE(reserve(kOne, "b"));
  EXPECT_FALSE(reserve(kOne, "a"));
}

TEST_F(QuotaBookTest, AWishTooLargeForTheRangeIsRefusedAndNotWrappedAround) {
  quotas_["a"].memory = 1_GiB;
  quotas_["a"].cpus = 8;
  const QuotaLease lease = reserve().value();
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(reserve({1, Bytes{kMost}, 0, {}}));
  EXPECT_FALSE(reserve({1, {}, std::numeric_limits<double>::infinity(), {}}));
}

TEST_F(QuotaBookTest, AdoptionIsNotAskedForButCounts) {
  quotas_["a"].sandboxes = 1;
  const QuotaLease first = book_.adopt("a", kOne);
  const QuotaLease second = book_.adopt("a", kOne);
  EXPECT_EQ(book_.used("a").sandboxes, 2U);
  EXPECT_FALSE(reserve());
}

TEST_F(QuotaBookTest, ALeaseThatIsReplacedGoesBackOnceAndAtOnce) {
  QuotaLease lease = reserve().value();
  lease = reserve().value();
  EXPECT_EQ(book_.used("a").sandboxes, 1U);
  QuotaLease moved = std::move(lease);
  EXPECT_EQ(book_.used("a").sandboxes, 1U);
  moved = QuotaLease();
  EXPECT_EQ(book_.used("a").sandboxes, 0U);
}

TEST_F(QuotaBookTest, ManyThreadsNeverPassAQuotaTogether) {
  quotas_["a"].sandboxes = 3;
  std::atomic<int> held = 0;
  std::atomic<int> passed = 0;
  std::atomic<int> granted = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 500; ++j) {
        const auto lease = reserve();
        if (lease) {
          ++granted;
          passed += ++held > 3 ? 1 : 0;
          --held;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(passed, 0);
  EXPECT_GT(granted, 0);
  EXPECT_EQ(book_.used("a").sandboxes, 0U);
}

TEST_F(QuotaBookTest, RequestsHaveABurstThenTheirRate) {
  quotas_["a"].requests_per_second = 10;
  quotas_["a"].burst = 5;
  EXPECT_EQ(requests(10), 5);
  now_ += 100ms;
  EXPECT_EQ(requests(10), 1);
  now_ += 1h;
  EXPECT_EQ(requests(10), 5);
}

TEST_F(QuotaBookTest, OverTheRateTheErrorSaysWhenToComeBackAndThatIsTrue) {
  quotas_["a"].requests_per_second = 0.1;
  EXPECT_EQ(requests(1), 1);
  const auto refused = book_.count_request("a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().retry_after(), 10s);
  now_ += 9s;
  EXPECT_EQ(requests(1), 0);
  now_ += 1s;
  EXPECT_EQ(requests(1), 1);
}

TEST_F(QuotaBookTest, RatesAreTheTenantsOwnAndAbsentOnesLimitNothing) {
  quotas_["a"].requests_per_second = 1;
  EXPECT_EQ(requests(100, "a"), 1);
  EXPECT_EQ(requests(100, "b"), 100);
}

TEST_F(QuotaBookTest, AChangedRateHoldsForTheNextRequestAndRefillsNothing) {
  quotas_["a"].requests_per_second = 1;
  EXPECT_EQ(requests(5), 1);
  quotas_["a"].requests_per_second = 1000;
  EXPECT_EQ(requests(5), 0);
  now_ += 3ms;
  EXPECT_EQ(requests(5), 3);
}

TEST_F(QuotaBookTest, ARateOfNothingOrLessRefusesWithoutACrash) {
  for (const double rate : {0.0, -1.0, -std::numeric_limits<double>::infinity()}) {
    quotas_["a"].requests_per_second = rate;
    (void)requests(1);
    const auto refused = book_.count_request("a");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().retry_after(), 3600s);
  }
}

TEST_F(QuotaBookTest, ALeaseOfDiskGrowsToTheQuotaAndGivesBackWhatItDoesNotNeed) {
  quotas_["a"].disk = 10_MiB;
  {
    QuotaLease lease = book_.reserve("a", disk_use({})).value();
    EXPECT_TRUE(book_.extend(lease, 8_MiB));
    EXPECT_EQ(book_.extend(lease, 3_MiB).error().code(), ErrorCode::kExhausted);
    EXPECT_EQ(book_.used("a").disk, 8_MiB);
    EXPECT_TRUE(book_.extend(lease, 2_MiB));
    lease.shrink_disk(4_MiB);
    EXPECT_EQ(book_.used("a").disk, 4_MiB);
    lease.shrink_disk(6_MiB);
    EXPECT_EQ(book_.used("a").disk, 4_MiB);
    const QuotaLease moved = std::move(lease);
    EXPECT_EQ(book_.used("a").disk, 4_MiB);
  }
  EXPECT_EQ(book_.used("a").disk, Bytes{0});
}

TEST_F(QuotaBookTest, WhoHasTooManySandboxesMayStillWriteWithinItsDisk) {
  const QuotaLease two = reserve({.sandboxes = 2, .memory = {}, .cpus = 0, .disk = {}}).value();
  quotas_["a"] = {.sandboxes = 1, .disk = 10_MiB};
  QuotaLease lease = book_.adopt("a", disk_use({}));
  EXPECT_TRUE(book_.extend(lease, 1_MiB));
}

}  // namespace
}  // namespace glovebox
