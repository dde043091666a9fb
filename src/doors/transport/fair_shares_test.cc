// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/fair_shares.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doors/transport/handler_pool.h"

namespace glovebox::http {
namespace {

using namespace std::chrono_literals;
using Share = FairShares::Share;

TEST(FairSharesTest, AnOwnerHoldsAPartOfWhatTheOthersLeave) {
  FairShares shares(64, 2);
  std::vector<Share> held;
  for (const char owner : {'a', 'b', 'c', 'd'}) {
    std::size_t count = 0;
    while (auto share = shares.take(std::string(1, owner))) {
      held.push_back(*std::move(share));
      ++count;
    }
    EXPECT_EQ(count, std::size_t{32} >> (owner - 'a'));
  }
  EXPECT_TRUE(shares.has_room("e"));
  held.clear();
  EXPECT_TRUE(shares.take("e", 32));
  EXPECT_FALSE(shares.take("e", 33));
}

TEST(FairSharesTest, NoMoreIsGivenThanThereIs) {
  FairShares shares(2, 4);
  auto first = shares.take("a");
  auto second = shares.take("b");
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(shares.take("c"));
  EXPECT_FALSE(shares.has_room("c"));
  first.reset();
  EXPECT_TRUE(shares.take("c"));
}

TEST(FairSharesTest, AShareIsGivenBackOnceHoweverItIsMoved) {
  FairShares shares(4, 1);
  auto first = shares.take("a", 2);
  auto second = shares.take("b", 2);
  ASSERT_TRUE(first && second);
  *first = *std::move(second);
  second.reset();
  first.reset();
  EXPECT_TRUE(shares.take("c", 4));
}

class HandlerPoolTest : public testing::Test {
 protected:
  // A task that waits until open() was called.
  HandlerPool::Task gated() {
    return [this](auto) {
      ++running_;
      gate_.wait();
      --running_;
    };
  }
  void await_running(int count) const {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (running_ != count && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(running_, count);
  }
  void open() { opened_.set_value(); }

  std::promise<void> opened_;
  std::shared_future<void> gate_{opened_.get_future()};
  std::atomic<int> running_{0};
};

TEST_F(HandlerPoolTest, WhoHasManyTasksLeavesThreadsToOthers) {
  HandlerPool pool(4, 100);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(pool.submit("a", gated()));
  }
  await_running(2);
  std::promise<void> served;
  ASSERT_TRUE(pool.submit("b", [&](auto) { served.set_value(); }));
  EXPECT_EQ(served.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_EQ(running_, 2);
  open();
}

TEST_F(HandlerPoolTest, OwnersTakeTurns) {
  HandlerPool pool(1, 100);
  ASSERT_TRUE(pool.submit("a", gated()));
  await_running(1);
  std::string order;  // Written by the one thread.
  std::promise<void> done;
  for (const char owner : std::string("aaabb")) {
    ASSERT_TRUE(pool.submit(std::string(1, owner), [&order, &done, owner](auto) {
      order += owner;
      if (order.size() == 5) {
        done.set_value();
      }
    }));
  }
  open();
  ASSERT_EQ(done.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_EQ(order, "ababa");
}

TEST_F(HandlerPoolTest, WhoStepsOutMakesRoomForAnother) {
  HandlerPool pool(1, 100);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(pool.submit("a", [&, task = gated()](auto waited) {
      pool.step_out();
      task(waited);
    }));
  }
  await_running(8);
  std::promise<bool> back;
  ASSERT_TRUE(pool.submit("a", [&](auto) {
    pool.step_out();
    back.set_value(pool.step_back("a"));
  }));
  EXPECT_TRUE(back.get_future().get());
  open();
}

TEST_F(HandlerPoolTest, AnOwnersLineHasAnEndThatLeavesRoomForOthers) {
  HandlerPool pool(1, 8);
  ASSERT_TRUE(pool.submit("a", gated()));
  await_running(1);
  int waiting = 0;
  while (pool.submit("a", [](auto) {})) {
    ++waiting;
  }
  EXPECT_EQ(waiting, 4);
  EXPECT_TRUE(pool.submit("b", [](auto) {}));
  open();
}

}  // namespace
}  // namespace glovebox::http
