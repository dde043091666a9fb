// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/watching.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>

namespace glovebox::mcp {
namespace {

struct Counter {
  std::uint64_t version = 0;
  bool over = false;
};

Watching::Subject subject_of(const std::shared_ptr<Counter>& counter, const std::string& name) {
  const std::weak_ptr<Counter> kept = counter;
  return {.name = name,
          .version = [kept]() -> std::optional<std::uint64_t> {
            const auto found = kept.lock();
            return found ? std::optional(found->version) : std::nullopt;
          },
          .is_over =
              [kept] {
                const auto found = kept.lock();
                return !found || found->over;
              },
          .method = name,
          .params = [] { return Json::object(); }};
}

std::string told(Watching& watching) {
  std::string names;
  watching.tell([&names](std::string_view method, const Json&) { names += method; });
  return names;
}

bool is_ready(Watching& watching, int patience) {
  pollfd polled{watching.fd(), POLLIN, 0};
  return ::poll(&polled, 1, patience) > 0;
}

TEST(WatchingTest, AChangeIsToldOnce) {
  Watching watching;
  const auto one = std::make_shared<Counter>();
  const auto other = std::make_shared<Counter>();
  EXPECT_TRUE(watching.add(subject_of(one, "a")));
  EXPECT_TRUE(watching.add(subject_of(other, "b")));
  EXPECT_EQ(told(watching), "");
  one->version = 7;
  EXPECT_EQ(told(watching), "a");
  EXPECT_EQ(told(watching), "");
  other->version = 1;
  watching.remove("a");
  one->version = 8;
  EXPECT_EQ(told(watching), "b");
}

TEST(WatchingTest, WhoMayHaveMissedItIsToldAgain) {
  Watching watching;
  const auto one = std::make_shared<Counter>();
  one->version = 3;
  EXPECT_TRUE(watching.add(subject_of(one, "a")));
  EXPECT_EQ(told(watching), "a");
  watching.repeat();
  EXPECT_EQ(told(watching), "a");
}

TEST(WatchingTest, NobodyIsWokenOnceAllIsOverAndTold) {
  Watching watching;
  EXPECT_FALSE(is_ready(watching, 0)) << "there is nothing to watch";
  const auto one = std::make_shared<Counter>();
  EXPECT_TRUE(watching.add(subject_of(one, "a")));
  EXPECT_TRUE(is_ready(watching, -1));
  one->version = 1;
  one->over = true;
  EXPECT_FALSE(watching.is_over()) << "not told yet";
  EXPECT_EQ(told(watching), "a");
  EXPECT_TRUE(watching.is_over());
  EXPECT_FALSE(is_ready(watching, 0));
}

TEST(WatchingTest, WhatIsGoneIsForgotten) {
  Watching watching;
  auto one = std::make_shared<Counter>();
  EXPECT_TRUE(watching.add(subject_of(one, "a")));
  one.reset();
  EXPECT_EQ(told(watching), "");
  EXPECT_TRUE(watching.is_over());
}

TEST(WatchingTest, TheSubjectsOfAClientAreBounded) {
  Watching watching;
  const auto one = std::make_shared<Counter>();
  for (std::size_t i = 0; i < Watching::kMost; ++i) {
    EXPECT_TRUE(watching.add(subject_of(one, std::to_string(i))));
  }
  EXPECT_FALSE(watching.add(subject_of(one, "more")));
  EXPECT_TRUE(watching.add(subject_of(one, "0"))) << "it is there already";
}

}  // namespace
}  // namespace glovebox::mcp
