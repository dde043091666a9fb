// SPDX-License-Identifier: Apache-2.0
#include "base/long_message.h"

#include <string>

#include <gtest/gtest.h>

namespace glovebox {
namespace {

using Joined = MessageJoiner::Joined;

// Some bytes of which no two neighbouring frames are alike.
std::string bytes_of(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>(i * 31 / 7 + i / kMaxFramePayload);
  }
  return bytes;
}

TEST(LongMessageTest, ArrivesAsItWasSentAndInNoMoreFramesThanItNeeds) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kMaxFramePayload, kMaxFramePayload + 1,
        2 * kMaxFramePayload, 2 * kMaxFramePayload + 1}) {
    const std::string sent = bytes_of(size);
    std::string stream;
    append_message(stream, 5, 7, sent);
    FrameParser parser;
    parser.feed(stream);
    MessageJoiner joiner(size);
    Frame frame;
    const std::size_t frames = size == 0 ? 1 : (size + kMaxFramePayload - 1) / kMaxFramePayload;
    for (std::size_t i = 1; i <= frames; ++i) {
      ASSERT_TRUE(*parser.next(frame));
      ASSERT_EQ(joiner.join(frame), i == frames ? Joined::kWhole : Joined::kMore);
    }
    EXPECT_EQ(frame.type, 5);
    EXPECT_EQ(frame.channel, 7U);
    EXPECT_TRUE(frame.payload == sent) << size;
    EXPECT_TRUE(joiner.take(frame) == sent) << size;
    EXPECT_FALSE(*parser.next(frame));
  }
}

TEST(LongMessageTest, LeavesNothingInTheOneAfterIt) {
  MessageJoiner joiner(10);
  Frame frame{.type = kPartType, .payload = "long "};
  EXPECT_EQ(joiner.join(frame), Joined::kMore);
  frame = {.type = 1, .payload = "one"};
  EXPECT_EQ(joiner.join(frame), Joined::kWhole);
  EXPECT_EQ(frame.payload, "long one");
  frame = {.type = 2, .payload = "short"};
  EXPECT_EQ(joiner.join(frame), Joined::kWhole);
  EXPECT_EQ(frame.payload, "short");
  EXPECT_EQ(joiner.take(frame), "short");
}

TEST(LongMessageTest, IsRefusedBeforeItIsHeldBeyondTheBound) {
  for (const std::uint8_t type : {kPartType, std::uint8_t{1}}) {
    MessageJoiner joiner(7);
    Frame frame{.type = kPartType, .payload = "1234"};
    EXPECT_EQ(joiner.join(frame), Joined::kMore);
    frame = {.type = type, .payload = "5678"};
    EXPECT_EQ(joiner.join(frame), Joined::kTooLong);
  }
}

}  // namespace
}  // namespace glovebox
