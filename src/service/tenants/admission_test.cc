// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/admission.h"

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/tenants/retry_after.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kUnlimited = FairQueue::kUnlimited;
// Long enough for any machine; a test that waits so long has failed.
constexpr auto kLong = std::chrono::milliseconds(60s);

class AdmissionTest : public ::testing::Test {
 protected:
  Admission make(FairQueue::Bounds bounds) {
    return {bounds, pressure_, [this] { return now_.load(); }};
  }
  std::optional<MemoryState> state_ = MemoryState{10_GiB, 5_GiB, 0.0};
  std::atomic<std::chrono::steady_clock::time_point> now_{};
  MemoryPressure pressure_{MemoryBounds{}, [this] { return state_; },
                           [this] { return now_.load(); }};
};

TEST_F(AdmissionTest, ALeaseHoldsASlotUntilItsEnd) {
  Admission admission = make({.slots = 1, .waiting_of_tenant = 1, .waiting = 1});
  {
    const ExecutionLease lease = admission.enter("a", kUnlimited, 0ms).value();
    EXPECT_EQ(admission.load().running, 1U);
    EXPECT_FALSE(admission.enter("a", kUnlimited, 0ms));
    EXPECT_EQ(admission.load().waiting, 0U);
  }
  EXPECT_EQ(admission.load().running, 0U);
  EXPECT_TRUE(admission.enter("a", kUnlimited, 0ms));
}

TEST_F(AdmissionTest, WhoWaitsGetsTheSlotThatIsGivenBack) {
  Admission admission = make({.slots = 1, .waiting_of_tenant = 1, .waiting = 1});
  std::optional<ExecutionLease> lease = admission.enter("a", kUnlimited, 0ms).value();
  std::atomic<bool> entered = false;
  std::jthread waiter([&] { entered = admission.enter("b", kUnlimited, kLong).has_value(); });
  while (admission.load().waiting == 0) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(entered);
  lease.reset();
  waiter.join();
  EXPECT_TRUE(entered);
  EXPECT_EQ(admission.load().running, 0U);
}

TEST_F(AdmissionTest, TooManyWaitingAreRefusedWithTheTimeThatSlotsAreHeld) {
  Admission admission = make({.slots = 1, .waiting_of_tenant = 0, .waiting = 0});
  for (int i = 0; i < 200; ++i) {
    const ExecutionLease lease = admission.enter("a", kUnlimited, 0ms).value();
    now_ = now_.load() + 10s;
  }
  const ExecutionLease lease = admission.enter("a", kUnlimited, 0ms).value();
  const auto refused = admission.enter("a", kUnlimited, kLong);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kExhausted);
  EXPECT_EQ(refused.error().retry_after(), 10s);
}

TEST_F(AdmissionTest, NothingEntersUnderMemoryPressureThoughSlotsAreFree) {
  Admission admission = make({.slots = 9, .waiting_of_tenant = 9, .waiting = 9});
  state_->available = 1_MiB;
  const auto refused = admission.enter("a", kUnlimited, kLong);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().retry_after());
  EXPECT_EQ(admission.load().running, 0U);
}

TEST_F(AdmissionTest, ALeaseMayOutliveTheAdmission) {
  std::optional<Admission> admission(std::in_place, FairQueue::Bounds{}, pressure_,
                                     [this] { return now_.load(); });
  ExecutionLease lease = admission->enter("a", kUnlimited, 0ms).value();
  admission.reset();
  lease = ExecutionLease();
}

TEST_F(AdmissionTest, ManyThreadsOfManyTenantsPassNoBoundAndAllEnter) {
  constexpr int kThreads = 12;
  constexpr int kEach = 200;
  Admission admission = make({.slots = 3, .waiting_of_tenant = kThreads, .waiting = kThreads});
  std::atomic<int> inside = 0;
  std::atomic<int> passed = 0;
  std::atomic<int> entered = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, tenant = std::string(1, static_cast<char>('a' + i % 4))] {
      for (int j = 0; j < kEach; ++j) {
        const auto lease = admission.enter(tenant, 2, kLong);
        if (lease) {
          ++entered;
          passed += ++inside > 3 ? 1 : 0;
          --inside;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(passed, 0);
  EXPECT_EQ(entered, kThreads * kEach);
  EXPECT_EQ(admission.load().running, 0U);
  EXPECT_EQ(admission.load().waiting, 0U);
}

TEST_F(AdmissionTest, GivingUpAtTheMomentOfTheCallLosesNoSlot) {
  Admission admission = make({.slots = 1, .waiting_of_tenant = 8, .waiting = 8});
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, wait = std::chrono::milliseconds(i % 2)] {
      for (int j = 0; j < 300; ++j) {
        const auto lease = admission.enter("a", kUnlimited, wait);
        std::this_thread::yield();
      }
    });
  }
  threads.clear();
  EXPECT_TRUE(admission.enter("a", kUnlimited, 0ms));
  EXPECT_EQ(admission.load().waiting, 0U);
}

}  // namespace
}  // namespace glovebox
