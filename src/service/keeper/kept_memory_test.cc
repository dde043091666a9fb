// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/kept_memory.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "service/keeper/delivery.h"
#include "service/keeper/execution_log.h"
#include "service/keeper/history.h"
#include "service/keeper/wire.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMiB = 1UL << 20;

glovebox::notebook::Cell cell_of(std::string source, std::size_t output) {
  glovebox::notebook::Cell cell;
  cell.source = std::move(source);
  cell.outputs.emplace_back().text = std::string(output, 'x');
  return cell;
}

std::string text_of(const History& history) {
  auto text = history.write("python");
  return text ? std::move(text).value() : text.error().message();
}

std::shared_ptr<ExecutionLog> finished_log(const std::shared_ptr<KeptMemory>& memory,
                                           std::size_t size) {
  auto log = std::make_shared<ExecutionLog>(memory);
  log->append("first");
  log->append(std::string(size, 'v'));
  log->finish();
  return log;
}

TEST(KeptMemoryTest, TheOldestCellsOfAllContextsGoFirstAndTheNotebookSaysHowMany) {
  const auto memory = std::make_shared<KeptMemory>();
  History one(memory);
  History other(memory);
  one.add(cell_of("the oldest", kMiB));
  for (int i = 0; i < 60; ++i) {
    other.add(cell_of("filler", kMiB));
  }
  one.add(cell_of("the newest", kMiB));
  EXPECT_FALSE(memory->is_full());
  const std::string text = text_of(one);
  EXPECT_EQ(text.find("the oldest"), std::string::npos);
  EXPECT_NE(text.find("1 earlier cell is no longer kept"), std::string::npos);
  EXPECT_NE(text.find("the newest"), std::string::npos);
  EXPECT_LE(text_of(other).size(), KeptMemory::kMostRemembered * 2);
}

TEST(KeptMemoryTest, ADocumentWithoutEndIsCutToItsNewestCells) {
  const auto memory = std::make_shared<KeptMemory>();
  History history(memory);
  for (int i = 0; i < 30; ++i) {
    auto cell = cell_of("cell " + std::to_string(i), 0);
    cell.outputs.front().text = std::string(kMiB, '\x01');  // Six bytes each, as JSON.
    history.add(std::move(cell));
  }
  const std::string text = text_of(history);
  EXPECT_LE(text.size(), 64 * kMiB);
  EXPECT_NE(text.find("cell 29"), std::string::npos);
  EXPECT_NE(text.find("no longer kept"), std::string::npos);
}

TEST(KeptMemoryTest, ALogThatNobodyReadsGoesAndSaysSoToWhoComesLater) {
  const auto memory = std::make_shared<KeptMemory>();
  const auto old = finished_log(memory, 20 * kMiB);
  EXPECT_FALSE(old->lost());
  const auto next = finished_log(memory, 20 * kMiB);
  EXPECT_FALSE(memory->is_full());
  ExecutionLog::Reader late(old);
  EXPECT_FALSE(late.next({}));
  EXPECT_TRUE(late.ended());
  ASSERT_TRUE(old->lost());
  EXPECT_FALSE(old->said_nothing());  // So its key does not execute the code again.
  EXPECT_FALSE(next->lost());
}

TEST(KeptMemoryTest, WhatIsUnderWayToSomebodyStays) {
  const auto memory = std::make_shared<KeptMemory>();
  auto log = std::make_shared<ExecutionLog>(memory);
  ExecutionLog::Reader reader(log);
  log->append(std::string(20 * kMiB, 'v'));
  log->finish();
  (void)finished_log(memory, 20 * kMiB);
  const auto next = reader.next({});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->event.size(), 20 * kMiB);
}

TEST(KeptMemoryTest, ReadersLearnHowManyEventsTheyMissed) {
  const auto memory = std::make_shared<KeptMemory>();
  auto log = std::make_shared<ExecutionLog>(memory);
  ExecutionLog::Reader reader(log);
  for (int i = 0; i < 12; ++i) {
    log->append(std::string(kMiB, 'x'));
  }
  const auto next = reader.next({});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->missed, 12U - ExecutionLog::kMostBytes / kMiB);
}

TEST(KeptMemoryTest, ClaimsAreRefusedWhenNothingCanGoAnyMore) {
  const auto memory = std::make_shared<KeptMemory>();
  {
    KeptMemory::Claim claim(memory);
    EXPECT_TRUE(claim.more(KeptMemory::kMost / 2));
    EXPECT_FALSE(claim.more(KeptMemory::kMost));
    KeptMemory::Claim second(memory);
    EXPECT_FALSE(second.more(KeptMemory::kMost));
  }
  KeptMemory::Claim later(memory);
  EXPECT_TRUE(later.more(KeptMemory::kMost));
}

TEST(KeptMemoryTest, AHundredThousandEventsCostNoMoreThanTheBudget) {
  const auto memory = std::make_shared<KeptMemory>();
  std::vector<std::shared_ptr<ExecutionLog>> logs;
  for (int i = 0; i < 64; ++i) {
    logs.push_back(std::make_shared<ExecutionLog>(memory));
  }
  for (int i = 0; i < 100'000; ++i) {
    logs[static_cast<std::size_t>(i) % logs.size()]->append(std::string(1024, 'x'));
  }
  EXPECT_LE(memory->peak(), KeptMemory::kMostRemembered + kMiB);
}

struct Pair {
  UniqueFd ours;
  UniqueFd theirs;
};

Pair make_pair(int type = SOCK_STREAM) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

TEST(DeliveryTest, ACallerThatDoesNotReadHoldsUpNobodyAndGetsAllInOrder) {
  Pair pair = make_pair();
  KeeperWire wire(std::move(pair.ours));
  const auto memory = std::make_shared<KeptMemory>();
  auto log = std::make_shared<ExecutionLog>(memory);
  Delivery delivery(log, wire);
  int told = 0;
  for (; told < 10'000 && !delivery.full(); ++told) {
    log->append(std::string(1000, 'x') + std::to_string(told));
    delivery.pass_on();
  }
  ASSERT_TRUE(delivery.full());
  EXPECT_GE(delivery.waits_for(), 0);
  KeeperWire caller(std::move(pair.theirs));
  for (int i = 0; i < told; ++i) {
    delivery.pass_on();
    const auto message = caller.receive(10'000ms);
    ASSERT_TRUE(message && message.value());
    EXPECT_EQ(message.value()->text, std::string(1000, 'x') + std::to_string(i));
  }
  EXPECT_FALSE(delivery.full());
  EXPECT_EQ(delivery.waits_for(), -1);
}

TEST(DeliveryTest, WhatIsThereTogetherGoesInOneWrite) {
  Pair pair = make_pair(SOCK_SEQPACKET);  // It keeps writes apart.
  KeeperWire wire(std::move(pair.ours));
  const auto memory = std::make_shared<KeptMemory>();
  auto log = std::make_shared<ExecutionLog>(memory);
  Delivery delivery(log, wire);
  log->append("first");
  log->append("second");
  delivery.pass_on();
  std::array<char, 256> bytes{};
  const ssize_t got = ::recv(pair.theirs.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  const std::string_view written(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  EXPECT_NE(written.find("first"), std::string_view::npos);
  EXPECT_NE(written.find("second"), std::string_view::npos);
}

TEST(DeliveryTest, TheLastEventsWaitForTheAnswerOfTheCall) {
  Pair pair = make_pair(SOCK_SEQPACKET);
  KeeperWire wire(std::move(pair.ours));
  const auto memory = std::make_shared<KeptMemory>();
  auto log = std::make_shared<ExecutionLog>(memory);
  Delivery delivery(log, wire);
  log->append("result");
  log->append("verdict");
  log->finish();
  ASSERT_TRUE(delivery.finish([] { return true; }));
  std::array<char, 256> bytes{};
  EXPECT_LT(::recv(pair.theirs.get(), bytes.data(), bytes.size(), MSG_DONTWAIT), 0);
  ASSERT_TRUE(wire.send(MessageType::kAnswer, "{}"));
  EXPECT_GT(::recv(pair.theirs.get(), bytes.data(), bytes.size(), MSG_DONTWAIT), 13);
  EXPECT_LT(::recv(pair.theirs.get(), bytes.data(), bytes.size(), MSG_DONTWAIT), 0);
}

TEST(DeliveryTest, ACallerThatIsGoneIsForgotten) {
  Pair pair = make_pair();
  KeeperWire wire(std::move(pair.ours));
  const auto memory = std::make_shared<KeptMemory>();
  auto log = std::make_shared<ExecutionLog>(memory);
  Delivery delivery(log, wire);
  pair.theirs.reset();
  for (int i = 0; i < 4; ++i) {
    log->append(std::string(kMiB, 'x'));
    delivery.pass_on();
  }
  EXPECT_FALSE(delivery.full());
  EXPECT_EQ(delivery.waits_for(), -1);
}

}  // namespace
}  // namespace glovebox::keeper
