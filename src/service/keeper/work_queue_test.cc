// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/work_queue.h"

#include <atomic>
#include <future>
#include <stdexcept>

#include <gtest/gtest.h>

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

TEST(WorkQueueTest, AllThatIsPostedIsDone) {
  std::atomic<int> done = 0;
  {
    WorkQueue queue({.of_tenant = 2, .all = 3});
    for (int i = 0; i < 100; ++i) {
      queue.post(i % 2 == 0 ? "a" : "b", [&] { ++done; });
    }
  }
  EXPECT_EQ(done, 100);
}

TEST(WorkQueueTest, JobsThatHangDelayNoOtherTenant) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> hung = 0;
  std::promise<void> served;
  WorkQueue queue({.of_tenant = 2, .all = 4});
  for (int i = 0; i < 50; ++i) {
    queue.post("a", [&hung, gone] {
      ++hung;
      gone.wait();
    });
  }
  queue.post("b", [&] { served.set_value(); });
  EXPECT_EQ(served.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_LE(hung, 2) << "a tenant has more than its share";
  EXPECT_FALSE(queue.wait(0ms));
  go.set_value();
  EXPECT_TRUE(queue.wait(60s));
  EXPECT_EQ(hung, 50);
}

TEST(WorkQueueTest, WhatAJobThrowsEndsNothing) {
  std::atomic<int> done = 0;
  WorkQueue queue({.of_tenant = 1, .all = 1});
  queue.post("a", [] { throw std::runtime_error("no"); });
  queue.post("a", [&] { ++done; });
  EXPECT_TRUE(queue.wait(60s));
  EXPECT_EQ(done, 1);
}

TEST(WorkQueueTest, WhatAJobHoldsEndsBeforeTheJobCountsAsDone) {
  std::atomic<bool> ended = false;
  const auto mark = [&ended](int* value) {
    delete value;
    ended = true;
  };
  WorkQueue queue({});
  queue.post("a", [held = std::shared_ptr<int>(new int(1), mark)] {});
  EXPECT_TRUE(queue.wait(60s));
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace glovebox::keeper
