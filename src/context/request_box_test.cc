// SPDX-License-Identifier: Apache-2.0
#include "context/request_box.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace glovebox {
namespace {

bool is_ready(const RequestBox& box) {
  pollfd polled{box.fd(), POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

// What the agent would be sent next.
std::string taken(RequestBox& box) {
  const auto answer = box.take();
  if (!answer) {
    return "nothing";
  }
  return (answer->type == agent::Request::kInput ? "input " : "tool ") + answer->payload;
}

ToolAnswer value(std::string json) { return {.result = std::move(json), .error = {}}; }

TEST(RequestBoxTest, AnswersWhatWasAskedInOrderAndOnce) {
  RequestBox box;
  EXPECT_EQ(box.answer("too early").error().code(), ErrorCode::kConflict);
  EXPECT_EQ(box.open_line(), 1);
  EXPECT_EQ(box.open_line(), 2);
  EXPECT_FALSE(is_ready(box));
  EXPECT_TRUE(box.answer("one"));
  EXPECT_TRUE(box.answer(std::nullopt));
  EXPECT_EQ(box.answer("three").error().code(), ErrorCode::kConflict);
  EXPECT_TRUE(is_ready(box));
  EXPECT_EQ(taken(box), R"(input {"text":"one"})");
  EXPECT_TRUE(is_ready(box));
  EXPECT_EQ(taken(box), R"(input {"eof":true})");
  EXPECT_FALSE(is_ready(box));
  EXPECT_FALSE(box.take());
}

TEST(RequestBoxTest, ANumberIsOfOneRequestForEver) {
  RequestBox box;
  const auto first = box.open_line();
  EXPECT_EQ(box.close(), 1);
  EXPECT_EQ(box.answer("late").error().code(), ErrorCode::kConflict);
  const auto second = box.open_line();
  EXPECT_NE(first, second);
  EXPECT_EQ(box.answer("stale", first).error().code(), ErrorCode::kConflict);
  EXPECT_TRUE(box.answer("fresh", second));
  EXPECT_EQ(box.answer("twice", second).error().code(), ErrorCode::kConflict);
  EXPECT_EQ(taken(box), R"(input {"text":"fresh"})");
}

TEST(RequestBoxTest, DropsAnswersThatNobodyTookBeforeTheEnd) {
  RequestBox box;
  box.open_line();
  box.open_line();
  const auto call = box.open_call(1);
  EXPECT_TRUE(box.answer("unread"));
  EXPECT_TRUE(box.answer_call(*call, value("1")));
  EXPECT_EQ(box.close(), 1);
  box.open_line();
  EXPECT_FALSE(is_ready(box));
  EXPECT_FALSE(box.take());
}

TEST(RequestBoxTest, BoundsAnswersAndOpenRequests) {
  RequestBox box;
  for (std::size_t i = 0; i < RequestBox::kMaxOpenLines; ++i) {
    EXPECT_TRUE(box.open_line());
  }
  EXPECT_FALSE(box.open_line());
  EXPECT_EQ(box.answer(std::string(RequestBox::kMaxLine + 1, 'x')).error().code(),
            ErrorCode::kInvalid);
  EXPECT_TRUE(box.answer(std::string(RequestBox::kMaxLine, 'x')));
  EXPECT_TRUE(box.open_line());
  for (std::size_t i = 0; i < RequestBox::kMaxOpenCalls; ++i) {
    EXPECT_TRUE(box.open_call(7));
  }
  EXPECT_FALSE(box.open_call(7));
}

TEST(RequestBoxTest, CallsAreAnsweredInAnyOrderAndEachOnce) {
  RequestBox box;
  const auto first = *box.open_call(70);
  const auto line = *box.open_line();
  const auto second = *box.open_call(71);
  EXPECT_TRUE(box.answer_call(second, value(R"({"b": 1, "a": 1.10})")));
  EXPECT_TRUE(box.answer_call(first, {.result = {}, .error = "no \"luck\""}));
  EXPECT_EQ(taken(box), R"(tool {"call":71,"result":{"b": 1, "a": 1.10}})");
  EXPECT_EQ(taken(box), R"(tool {"call":70,"error":{"message":"no \"luck\""}})");
  EXPECT_EQ(box.answer_call(first, value("1")).error().code(), ErrorCode::kConflict);
  EXPECT_EQ(box.answer_call(line, value("1")).error().code(), ErrorCode::kConflict)
      << "a request for a line";
  EXPECT_EQ(box.answer_call(second + 1, value("1")).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(box.answer_call(0, value("1")).error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(box.answer("the line"));
}

TEST(RequestBoxTest, ACallThatIsClosedIsNeverAnswered) {
  RequestBox box;
  const auto call = *box.open_call(1);
  EXPECT_EQ(box.close(), 0);
  EXPECT_EQ(box.answer_call(call, value("1")).error().code(), ErrorCode::kConflict);
  EXPECT_FALSE(box.take());
}

TEST(RequestBoxTest, WhatWasAgreedToAboutACallLastsAsLongAsTheCallIsOpen) {
  RequestBox box;
  const auto first = *box.open_call(1);
  const auto second = *box.open_call(2);
  EXPECT_TRUE(box.agree(first, "hash"));
  EXPECT_EQ(box.wait_of(first), (ToolWait{.open = true, .agreed = "hash"}));
  EXPECT_EQ(box.wait_of(second), ToolWait{.open = true});
  EXPECT_TRUE(box.answer_call(first, value("1")));
  EXPECT_EQ(box.wait_of(first), ToolWait{});
  EXPECT_EQ(box.agree(first, "late").error().code(), ErrorCode::kConflict);
  EXPECT_EQ(box.close(), 0);
  EXPECT_EQ(box.wait_of(second), ToolWait{});
}

TEST(RequestBoxTest, AWrongAnswerLeavesTheCallOpen) {
  RequestBox box;
  const auto call = *box.open_call(1);
  for (const std::string& json : {std::string(), std::string("{"), std::string("1 2"),
                                  std::string(300, '[') + std::string(300, ']'),
                                  "\"" + std::string(RequestBox::kMaxResult, 'x') + "\""}) {
    EXPECT_EQ(box.answer_call(call, value(json)).error().code(), ErrorCode::kInvalid);
  }
  EXPECT_TRUE(box.answer_call(call, value("null")));
}

TEST(RequestBoxTest, ResultsThatNobodyTakesAreBounded) {
  RequestBox box;
  const std::string large = "\"" + std::string(RequestBox::kMaxResult - 2, 'x') + "\"";
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(box.answer_call(*box.open_call(1), value(large)));
  }
  const auto call = *box.open_call(1);
  EXPECT_EQ(box.answer_call(call, value(large)).error().code(), ErrorCode::kExhausted);
  EXPECT_TRUE(box.take());
  EXPECT_TRUE(box.answer_call(call, value(large))) << "once there is room";
}

}  // namespace
}  // namespace glovebox
