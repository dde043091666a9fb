// SPDX-License-Identifier: Apache-2.0
#include "base/frame.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A frame that outlives the parser's next call.
struct KeptFrame {
  std::uint8_t type;
  std::uint32_t channel;
  std::string payload;
};

std::vector<KeptFrame> frames_of(FrameParser& parser) {
  std::vector<KeptFrame> frames;
  Frame frame;
  for (;;) {
    const auto more = parser.next(frame);
    EXPECT_TRUE(more);
    if (!more || !*more) {
      return frames;
    }
    frames.push_back({frame.type, frame.channel, std::string(frame.payload)});
  }
}

std::string frame_bytes(std::uint8_t type, std::uint32_t channel, std::string_view payload) {
  std::string bytes;
  append_frame(bytes, type, channel, payload);
  return bytes;
}

TEST(AppendFrameTest, WritesALittleEndianHeaderAndThePayload) {
  std::string bytes = "x";
  append_frame(bytes, 0x7f, 0x01020304, "abc");

  EXPECT_EQ(bytes, std::string("x\3\0\0\0\x7f\4\3\2\1"
                               "abc",
                               13));
}

TEST(AppendFrameDeathTest, RefusesAPayloadOverTheLimit) {
  const std::string payload(kMaxFramePayload + 1, 'x');

  std::string bytes;
  EXPECT_DEATH(append_frame(bytes, 1, 1, payload), "kMaxFramePayload");
}

TEST(FrameParserTest, GivesEveryFrameOfOneFeedInOrder) {
  FrameParser parser;
  parser.feed(frame_bytes(1, 2, "first") + frame_bytes(3, 4, "") +
              frame_bytes(255, UINT32_MAX, std::string("\0\xff", 2)));

  EXPECT_THAT(frames_of(parser), ElementsAre(FieldsAre(1, 2, "first"), FieldsAre(3, 4, ""),
                                             FieldsAre(255, UINT32_MAX, std::string("\0\xff", 2))));
}

TEST(FrameParserTest, HasNoFrameBeforeItsLastByte) {
  const std::string bytes = frame_bytes(1, 2, "payload");
  FrameParser parser;
  for (const char byte : bytes.substr(0, bytes.size() - 1)) {
    parser.feed({&byte, 1});
    EXPECT_THAT(frames_of(parser), IsEmpty());
  }

  parser.feed({&bytes.back(), 1});

  EXPECT_THAT(frames_of(parser), ElementsAre(FieldsAre(1, 2, "payload")));
}

TEST(FrameParserTest, SaysHowManyBytesTheNextFrameLacksSoThatNoneBehindItIsRead) {
  const std::string bytes = frame_bytes(1, 2, "payload") + frame_bytes(3, 4, "behind");
  FrameParser parser;
  std::size_t at = 0;
  Frame frame;
  for (auto whole = parser.next(frame); whole && !*whole; whole = parser.next(frame)) {
    ASSERT_GT(parser.missing(), 0U);
    const std::size_t some = (parser.missing() + 1) / 2;
    parser.feed(std::string_view(bytes).substr(at, some));
    at += some;
  }

  EXPECT_EQ(frame.payload, "payload");
  EXPECT_EQ(bytes.substr(at), frame_bytes(3, 4, "behind"));
}

TEST(FrameParserTest, JoinsFramesSplitAnywhere) {
  const std::string bytes = frame_bytes(1, 2, "one") + frame_bytes(3, 4, "two");
  for (std::size_t split = 0; split <= bytes.size(); ++split) {
    FrameParser parser;
    parser.feed(std::string_view(bytes).substr(0, split));
    std::vector<KeptFrame> frames = frames_of(parser);
    parser.feed(std::string_view(bytes).substr(split));
    for (KeptFrame& frame : frames_of(parser)) {
      frames.push_back(std::move(frame));
    }

    EXPECT_THAT(frames, ElementsAre(FieldsAre(1, 2, "one"), FieldsAre(3, 4, "two")))
        << "split at " << split;
  }
}

TEST(FrameParserTest, KeepsFramesThatWereNotTakenBeforeTheNextFeed) {
  FrameParser parser;
  parser.feed(frame_bytes(1, 0, "one") + frame_bytes(2, 0, "two"));
  Frame frame;
  ASSERT_TRUE(*parser.next(frame));

  parser.feed(frame_bytes(3, 0, "three"));

  EXPECT_THAT(frames_of(parser), ElementsAre(FieldsAre(2, 0, "two"), FieldsAre(3, 0, "three")));
}

TEST(FrameParserTest, TakesAPayloadOfTheLimit) {
  const std::string payload(kMaxFramePayload, 'x');
  FrameParser parser;
  parser.feed(frame_bytes(1, 2, payload));

  EXPECT_THAT(frames_of(parser), ElementsAre(FieldsAre(1, 2, payload)));
}

TEST(FrameParserTest, RefusesAPayloadOverTheLimitAtItsHeader) {
  for (const std::string& size : {std::string("\1\0\x10\0", 4), std::string("\xff\xff\xff\xff")}) {
    FrameParser parser;
    parser.feed(size + std::string(kFrameHeaderSize - size.size(), '\0'));

    Frame frame;
    const auto more = parser.next(frame);

    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code(), ErrorCode::kInvalid);
    EXPECT_THAT(more.error().message(), HasSubstr("over the limit"));
  }
}

TEST(FrameParserTest, GivesTheGoodFramesInFrontOfABadOne) {
  FrameParser parser;
  parser.feed(frame_bytes(1, 2, "good") + std::string(kFrameHeaderSize, '\xff') + "rest");
  Frame frame;

  ASSERT_TRUE(*parser.next(frame));
  EXPECT_EQ(frame.payload, "good");
  EXPECT_FALSE(parser.next(frame));
}

TEST(FrameParserTest, NeverMakesSenseOfTheStreamAgainAfterABadFrame) {
  FrameParser parser;
  parser.feed(std::string(kFrameHeaderSize, '\xff'));
  Frame frame;
  ASSERT_FALSE(parser.next(frame));

  parser.feed(frame_bytes(1, 2, "good"));

  EXPECT_FALSE(parser.next(frame));
}

}  // namespace
}  // namespace glovebox
