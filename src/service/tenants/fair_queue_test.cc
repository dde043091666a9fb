// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/fair_queue.h"

#include <map>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using Ticket = FairQueue::Ticket;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kUnlimited = FairQueue::kUnlimited;

TEST(FairQueueTest, WhoFindsAFreeSlotRunsAtOnceEvenWhereNobodyMayWait) {
  FairQueue queue({.slots = 2, .waiting_of_tenant = 0, .waiting = 0});
  const Ticket first = queue.arrive("a", kUnlimited).value();
  EXPECT_THAT(queue.next(), ElementsAre(first));
  const Ticket second = queue.arrive("a", kUnlimited).value();
  EXPECT_THAT(queue.next(), ElementsAre(second));
  EXPECT_EQ(queue.arrive("b", kUnlimited).error().code(), ErrorCode::kExhausted);
  queue.leave(first);
  EXPECT_TRUE(queue.arrive("b", kUnlimited));
}

TEST(FairQueueTest, TenantsTakeTurnsHoweverMuchOneHasWaiting) {
  FairQueue queue({.slots = 1, .waiting_of_tenant = 100, .waiting = 1'000});
  std::map<Ticket, char> tenant_of;
  const auto arrive = [&](char tenant, int count) {
    for (int i = 0; i < count; ++i) {
      tenant_of[queue.arrive(std::string(1, tenant), kUnlimited).value()] = tenant;
    }
  };
  arrive('a', 50);
  std::vector<Ticket> running = queue.next();
  arrive('b', 3);
  arrive('c', 2);
  std::string order;
  while (!running.empty()) {
    order += tenant_of.at(running[0]);
    queue.leave(running[0]);
    running = queue.next();
  }
  EXPECT_EQ(order.substr(0, 10), "abcabcabaa");
  EXPECT_EQ(order.size(), 55U);
}

TEST(FairQueueTest, ATenantLeavesAPartOfTheSlotsToWhoeverComesNext) {
  FairQueue queue({.slots = 8, .waiting_of_tenant = 99, .waiting = 99, .parts = 2});
  std::map<Ticket, char> tenant_of;
  std::map<char, int> running;
  for (const char tenant : {'a', 'b', 'c'}) {
    for (int i = 0; i < 9; ++i) {
      tenant_of[queue.arrive(std::string(1, tenant), kUnlimited).value()] = tenant;
    }
    for (const Ticket ticket : queue.next()) {
      ++running[tenant_of.at(ticket)];
    }
  }
  EXPECT_EQ(running, (std::map<char, int>{{'a', 4}, {'b', 2}, {'c', 1}}));
}

TEST(FairQueueTest, InATenantsLineTheFirstIsServedFirst) {
  FairQueue queue({.slots = 1, .waiting_of_tenant = 9, .waiting = 9});
  std::vector<Ticket> arrived;
  for (int i = 0; i < 5; ++i) {
    arrived.push_back(queue.arrive("a", kUnlimited).value());
  }
  std::vector<Ticket> served;
  for (auto next = queue.next(); !next.empty(); next = queue.next()) {
    served.push_back(next[0]);
    queue.leave(next[0]);
  }
  EXPECT_EQ(served, arrived);
}

TEST(FairQueueTest, ATenantAtItsOwnLimitLeavesSlotsToOthers) {
  FairQueue queue({.slots = 4, .waiting_of_tenant = 9, .waiting = 9});
  const Ticket first = queue.arrive("a", 1).value();
  const Ticket second = queue.arrive("a", 1).value();
  EXPECT_THAT(queue.next(), ElementsAre(first));
  const Ticket other = queue.arrive("b", 1).value();
  EXPECT_THAT(queue.next(), ElementsAre(other));
  queue.leave(first);
  EXPECT_THAT(queue.next(), ElementsAre(second));
}

TEST(FairQueueTest, LinesAreBoundedForATenantAndAltogether) {
  FairQueue queue({.slots = 1, .waiting_of_tenant = 2, .waiting = 3});
  const auto arrive = [&](const char* tenant) {
    const bool taken = queue.arrive(tenant, kUnlimited).has_value();
    (void)queue.next();
    return taken;
  };
  EXPECT_TRUE(arrive("a"));
  EXPECT_TRUE(arrive("a"));
  EXPECT_TRUE(arrive("a"));
  EXPECT_FALSE(arrive("a"));
  EXPECT_TRUE(arrive("b"));
  EXPECT_FALSE(arrive("b"));
  EXPECT_FALSE(arrive("c"));
  EXPECT_EQ(queue.waiting(), 3U);
}

TEST(FairQueueTest, WhoGivesUpIsNotServedAndHoldsNobodyUp) {
  FairQueue queue({.slots = 1, .waiting_of_tenant = 9, .waiting = 9});
  const Ticket running = queue.arrive("a", kUnlimited).value();
  (void)queue.next();
  const Ticket gone = queue.arrive("b", kUnlimited).value();
  const Ticket patient = queue.arrive("b", kUnlimited).value();
  queue.leave(gone);
  EXPECT_THAT(queue.next(), IsEmpty());
  queue.leave(running);
  EXPECT_THAT(queue.next(), ElementsAre(patient));
}

TEST(FairQueueTest, WhateverHappensNoBoundIsPassedAndNobodyIsForgotten) {
  std::mt19937 random(1);
  FairQueue queue({.slots = 3, .waiting_of_tenant = 5, .waiting = 12});
  std::map<std::string, std::size_t> running_of;
  std::map<Ticket, std::string> present;
  std::set<Ticket> running;
  const auto leave = [&](Ticket ticket) {
    queue.leave(ticket);
    if (running.erase(ticket) == 1) {
      --running_of[present.at(ticket)];
    }
    present.erase(ticket);
  };
  const auto call = [&] {
    for (const Ticket ticket : queue.next()) {
      EXPECT_TRUE(running.insert(ticket).second);
      ++running_of[present.at(ticket)];
    }
  };
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0) {
      const std::string tenant(1, static_cast<char>('a' + random() % 5));
      const auto ticket = queue.arrive(tenant, 2);
      if (ticket) {
        present[*ticket] = tenant;
      }
    } else if (!present.empty()) {
      leave(std::next(present.begin(), static_cast<std::ptrdiff_t>(random() % present.size()))
                ->first);
    }
    call();
    ASSERT_LE(running.size(), 3U);
    ASSERT_EQ(queue.running(), running.size());
    ASSERT_EQ(queue.waiting(), present.size() - running.size());
    ASSERT_LE(queue.waiting(), 12U);
    for (const auto& [tenant, count] : running_of) {
      ASSERT_LE(count, 2U);
    }
  }
  while (!present.empty()) {
    ASSERT_FALSE(running.empty());
    leave(*running.begin());
    call();
  }
}

}  // namespace
}  // namespace glovebox
