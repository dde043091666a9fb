// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/kept_streams.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>

namespace glovebox::mcp {
namespace {

using State = KeptStreams::State;

class KeptStreamsTest : public ::testing::Test {
 protected:
  // What a reader gets until there is nothing more now, and how that ends.
  std::pair<std::string, State> read(KeptStreams::Reader& reader) {
    std::string all;
    for (;;) {
      std::string event;
      const State state = streams_.next(reader, event);
      all += event;
      if (state != State::kGoesOn || event.empty()) {
        return {all, state};
      }
    }
  }

  static bool is_ready(const KeptStreams::Reader& reader) {
    pollfd polled{reader.changed.get(), POLLIN, 0};
    return ::poll(&polled, 1, 0) == 1;
  }

  http::FairShares room_{1UL << 20, 1};
  KeptStreams streams_{"tenant", room_};
};

TEST_F(KeptStreamsTest, AReaderGetsWhatFollowedItsLastEventOfItsStreamOnly) {
  const std::uint64_t one = streams_.open();
  const std::uint64_t two = streams_.open();
  EXPECT_EQ(streams_.add(one, "data: a\n").event, "id: 1-1\ndata: a\n\n");
  (void)streams_.add(two, "data: other\n");
  (void)streams_.add(one, "data: b\n");
  const auto reader = streams_.resume("1-1");
  ASSERT_TRUE(reader);
  EXPECT_EQ(read(**reader), (std::pair(std::string("id: 1-2\ndata: b\n\n"), State::kGoesOn)));
  EXPECT_FALSE(is_ready(**reader));
  EXPECT_TRUE(streams_.add(one, "data: c\n").taken_over);
  EXPECT_TRUE(is_ready(**reader));
  EXPECT_EQ(read(**reader), (std::pair(std::string("id: 1-3\ndata: c\n\n"), State::kGoesOn)));
  streams_.finish(one);
  EXPECT_TRUE(is_ready(**reader));
  EXPECT_EQ(read(**reader).second, State::kEnd);
  EXPECT_FALSE(streams_.add(two, "data: d\n").taken_over);
}

TEST_F(KeptStreamsTest, AFinishedStreamCanBeResumedAgain) {
  const std::uint64_t one = streams_.open();
  (void)streams_.add(one, "data: a\n");
  (void)streams_.add(one, "data: b\n");
  streams_.finish(one);
  for (int time = 0; time < 2; ++time) {
    const auto reader = streams_.resume("1-1");
    ASSERT_TRUE(reader);
    EXPECT_EQ(read(**reader), (std::pair(std::string("id: 1-2\ndata: b\n\n"), State::kEnd)));
  }
  const auto whole = streams_.resume("1-2");
  ASSERT_TRUE(whole);
  EXPECT_EQ(read(**whole), (std::pair(std::string(), State::kEnd)));
}

TEST_F(KeptStreamsTest, TheNewestReaderTakesTheStreamFromTheOneBefore) {
  const std::uint64_t one = streams_.open();
  (void)streams_.add(one, "data: a\n");
  const auto first = streams_.resume("1-0");
  const auto second = streams_.resume("1-0");
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(is_ready(**first));
  EXPECT_EQ(read(**first), (std::pair(std::string(), State::kBroken)));
  EXPECT_EQ(read(**second).first, "id: 1-1\ndata: a\n\n");
}

TEST_F(KeptStreamsTest, WhatIsNoIdOfTheSessionIsNotFound) {
  const std::uint64_t one = streams_.open();
  (void)streams_.add(one, "data: a\n");
  for (const char* const id : {"", "1", "1-", "-1", "1-2", "2-1", "1-1 ", "a-1", "1--1",
                               "99999999999999999999-1", "1-1-1"}) {
    const auto reader = streams_.resume(id);
    ASSERT_FALSE(reader) << id;
    EXPECT_EQ(reader.error().code(), ErrorCode::kNotFound) << id;
  }
}

TEST_F(KeptStreamsTest, TheOldestEventsGoAndWhoWantsThemIsTold) {
  const std::uint64_t old = streams_.open();
  (void)streams_.add(old, "data: a\n");
  (void)streams_.add(old, "data: b\n");
  streams_.finish(old);
  const std::uint64_t busy = streams_.open();
  for (std::size_t i = 0; i < KeptStreams::kMostEvents - 1; ++i) {
    (void)streams_.add(busy, "data: x\n");
  }
  // The second event of the old stream is still there.
  EXPECT_TRUE(streams_.resume("1-1"));
  EXPECT_EQ(streams_.resume("1-0").error().code(), ErrorCode::kExhausted);
  (void)streams_.add(busy, "data: x\n");
  EXPECT_EQ(streams_.resume("1-1").error().code(), ErrorCode::kExhausted);
  EXPECT_TRUE(streams_.resume("2-0"));
  const auto slow = streams_.resume("2-0");
  (void)streams_.add(busy, "data: x\n");
  EXPECT_EQ(read(**slow).second, State::kBroken);
}

TEST_F(KeptStreamsTest, AnEventThatFindsNoRoomBreaksOnlyItsOwnPast) {
  const std::uint64_t one = streams_.open();
  (void)streams_.add(one, "data: a\n");
  (void)streams_.add(one, "data: " + std::string(2UL << 20, 'x') + "\n");
  (void)streams_.add(one, "data: c\n");
  EXPECT_EQ(streams_.resume("1-1").error().code(), ErrorCode::kExhausted);
  const auto reader = streams_.resume("1-2");
  ASSERT_TRUE(reader);
  EXPECT_EQ(read(**reader).first, "id: 1-3\ndata: c\n\n");
  streams_.finish(one);
}

TEST_F(KeptStreamsTest, RoomIsGivenBack) {
  const std::string large = "data: " + std::string(300'000, 'x') + "\n";
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t stream = streams_.open();
    (void)streams_.add(stream, large);
    streams_.finish(stream);
  }
  streams_.end();
  EXPECT_TRUE(room_.take("tenant", 1'000'000));
}

TEST_F(KeptStreamsTest, TheEndOfTheSessionEndsItsReaders) {
  const std::uint64_t one = streams_.open();
  (void)streams_.add(one, "data: a\n");
  const auto reader = streams_.resume("1-1");
  (void)read(**reader);
  streams_.end();
  EXPECT_TRUE(is_ready(**reader));
  EXPECT_EQ(read(**reader).second, State::kBroken);
  EXPECT_FALSE(streams_.resume("1-1"));
  // The call that made it may still be under way.
  (void)streams_.add(one, "data: b\n");
  streams_.finish(one);
}

}  // namespace
}  // namespace glovebox::mcp
