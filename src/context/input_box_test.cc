// SPDX-License-Identifier: Apache-2.0
#include "context/input_box.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace glovebox {
namespace {

bool is_ready(const InputBox& box) {
  pollfd polled{box.fd(), POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

TEST(InputBoxTest, AnswersWhatWasAskedInOrderAndOnce) {
  InputBox box;
  EXPECT_EQ(box.answer("too early").error().code(), ErrorCode::kConflict);
  EXPECT_EQ(box.open(), 1);
  EXPECT_EQ(box.open(), 2);
  EXPECT_FALSE(is_ready(box));
  EXPECT_TRUE(box.answer("one"));
  EXPECT_TRUE(box.answer(std::nullopt));
  EXPECT_EQ(box.answer("three").error().code(), ErrorCode::kConflict);
  EXPECT_TRUE(is_ready(box));
  EXPECT_EQ(box.take().value(), "one");
  EXPECT_TRUE(is_ready(box));
  EXPECT_EQ(box.take().value(), std::nullopt);
  EXPECT_FALSE(is_ready(box));
  EXPECT_FALSE(box.take());
}

TEST(InputBoxTest, ANumberIsOfOneRequestForEver) {
  InputBox box;
  const auto first = box.open();
  EXPECT_EQ(box.close(), 1);
  EXPECT_EQ(box.answer("late").error().code(), ErrorCode::kConflict);
  const auto second = box.open();
  EXPECT_NE(first, second);
  EXPECT_EQ(box.answer("stale", first).error().code(), ErrorCode::kConflict);
  EXPECT_TRUE(box.answer("fresh", second));
  EXPECT_EQ(box.answer("twice", second).error().code(), ErrorCode::kConflict);
  EXPECT_EQ(box.take().value(), "fresh");
}

TEST(InputBoxTest, DropsAnswersThatNobodyTookBeforeTheEnd) {
  InputBox box;
  box.open();
  box.open();
  EXPECT_TRUE(box.answer("unread"));
  EXPECT_EQ(box.close(), 1);
  box.open();
  EXPECT_FALSE(is_ready(box));
  EXPECT_FALSE(box.take());
}

TEST(InputBoxTest, BoundsAnswersAndOpenRequests) {
  InputBox box;
  for (std::size_t i = 0; i < InputBox::kMaxOpen; ++i) {
    EXPECT_TRUE(box.open());
  }
  EXPECT_FALSE(box.open());
  EXPECT_EQ(box.answer(std::string(InputBox::kMaxAnswer + 1, 'x')).error().code(),
            ErrorCode::kInvalid);
  EXPECT_TRUE(box.answer(std::string(InputBox::kMaxAnswer, 'x')));
  EXPECT_TRUE(box.open());
}

}  // namespace
}  // namespace glovebox
