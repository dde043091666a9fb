// SPDX-License-Identifier: Apache-2.0
#include "sandbox/output.h"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace glovebox {
namespace {

Captured capture(std::uint64_t limit, std::initializer_list<std::string_view> pieces) {
  OutputCapture capture(Bytes{limit});
  for (const std::string_view piece : pieces) {
    capture.write(piece);
  }
  return capture.finish();
}

// What a capture promises, told from the whole stream.
Captured expected(std::string_view stream, std::size_t limit) {
  if (stream.size() <= limit) {
    return {.bytes = std::string(stream), .total = stream.size(), .truncated = false};
  }
  const std::size_t tail = limit / 2;
  const std::size_t head = limit - tail;
  return {.bytes = std::string(stream.substr(0, head)) +
                   "\n[glovebox: " + std::to_string(stream.size() - limit) + " bytes not kept]\n" +
                   std::string(stream.substr(stream.size() - tail)),
          .total = stream.size(),
          .truncated = true};
}

TEST(OutputCaptureTest, KeepsNothingOfNothing) {
  EXPECT_EQ(capture(10, {}), Captured{});
  EXPECT_EQ(capture(0, {"", ""}), Captured{});
}

TEST(OutputCaptureTest, KeepsAllThatFitsExactly) {
  EXPECT_EQ(capture(10, {"0123", "456789"}), (Captured{"0123456789", 10, false}));
}

TEST(OutputCaptureTest, KeepsHeadAndTailAndSaysHowMuchIsMissing) {
  EXPECT_EQ(capture(6, {"abcdefghij"}),
            (Captured{"abc\n[glovebox: 4 bytes not kept]\nhij", 10, true}));
}

TEST(OutputCaptureTest, CutsASingleByte) {
  EXPECT_EQ(capture(4, {"ab", "c", "de"}),
            (Captured{"ab\n[glovebox: 1 bytes not kept]\nde", 5, true}));
}

TEST(OutputCaptureTest, GivesTheOddByteToTheHead) {
  EXPECT_EQ(capture(3, {"abcdef"}), (Captured{"ab\n[glovebox: 3 bytes not kept]\nf", 6, true}));
  EXPECT_EQ(capture(1, {"abc"}), (Captured{"a\n[glovebox: 2 bytes not kept]\n", 3, true}));
}

TEST(OutputCaptureTest, CountsWithoutKeepingWhenTheLimitIsZero) {
  EXPECT_EQ(capture(0, {"ab", "c"}), (Captured{"\n[glovebox: 3 bytes not kept]\n", 3, true}));
}

TEST(OutputCaptureTest, DoesNotDependOnHowTheStreamIsCut) {
  std::mt19937 random(7);
  for (std::size_t limit = 0; limit < 24; ++limit) {
    for (int round = 0; round < 100; ++round) {
      OutputCapture capture(Bytes{limit});
      std::string stream;
      for (std::size_t pieces = random() % 12; pieces > 0; --pieces) {
        std::string piece(random() % 20, '\0');
        std::generate(piece.begin(), piece.end(), [&] { return static_cast<char>(random()); });
        capture.write(piece);
        stream += piece;

        EXPECT_EQ(capture.total(), stream.size());
        ASSERT_EQ(capture.finish(), expected(stream, limit)) << "limit " << limit;
      }
    }
  }
}

TEST(OutputCaptureTest, SaysHowMuchRoomTheHeadHas) {
  OutputCapture capture(Bytes{9});
  EXPECT_EQ(capture.head_room(), 5U);
  capture.write("abc");
  EXPECT_EQ(capture.head_room(), 2U);
  capture.write("defgh");
  EXPECT_EQ(capture.head_room(), 0U);
}

TEST(OutputCaptureTest, CanBeAskedInBetween) {
  OutputCapture capture(Bytes{4});
  capture.write("abcdef");
  const Captured first = capture.finish();
  EXPECT_EQ(first, capture.finish());
  capture.write("g");
  EXPECT_EQ(capture.finish(), (Captured{"ab\n[glovebox: 3 bytes not kept]\nfg", 7, true}));
}

}  // namespace
}  // namespace glovebox
