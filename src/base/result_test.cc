// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cerrno>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::IsEmpty;

Result<int> half(int number) {
  if (number % 2 != 0) {
    return Error(ErrorCode::kInvalid, "odd", "take an even one");
  }
  return number / 2;
}

Result<std::string> half_as_text(int number, bool& got_beyond) {
  const int half_number = GB_TRY(half(number));
  got_beyond = true;
  return std::to_string(half_number);
}

Result<void> check_even(int number) {
  (void)GB_TRY(half(number));
  return {};
}

Result<void> check_both(int first, int second) {
  GB_TRY(check_even(first));
  GB_TRY(check_even(second));
  return {};
}

TEST(ResultTest, HoldsAValueOrAnError) {
  const auto value = half(8);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(*value, 4);

  const auto failure = half(7);
  ASSERT_FALSE(failure.has_value());
  EXPECT_EQ(failure.error().message(), "odd");
}

TEST(ResultTest, IsTrueForAFalseValue) { EXPECT_TRUE(Result<bool>(false)); }

TEST(ResultTest, GivesUpAValueThatOnlyMoves) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);

  const std::unique_ptr<int> taken = *std::move(result);

  EXPECT_EQ(*taken, 7);
}

TEST(ResultTest, LetsItsValueBeChanged) {
  Result<std::string> result = std::string("a");

  result->push_back('b');
  *result += 'c';

  EXPECT_EQ(result.value(), "abc");
}

TEST(ResultTest, OfNothingIsGoodUntilAnErrorIsGiven) {
  EXPECT_TRUE(Result<void>());
  EXPECT_FALSE(Result<void>(Error(ErrorCode::kRefused, "no")));
}

TEST(ResultTest, TryGivesTheValue) {
  bool got_beyond = false;

  const auto text = half_as_text(8, got_beyond);

  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "4");
  EXPECT_TRUE(got_beyond);
}

TEST(ResultTest, TryReturnsTheWholeErrorAtOnce) {
  bool got_beyond = false;

  const auto text = half_as_text(7, got_beyond);

  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(text.error().message(), "odd");
  EXPECT_EQ(text.error().hint(), "take an even one");
  EXPECT_FALSE(got_beyond);
}

TEST(ResultTest, TryPassesThroughResultsOfNothing) {
  EXPECT_TRUE(check_both(2, 4));
  EXPECT_FALSE(check_both(1, 4));
  EXPECT_FALSE(check_both(2, 3));
}

TEST(ResultDeathTest, AbortsWhereAnErrorIsTakenForAValue) {
  EXPECT_DEATH((void)half(7).value(), "has_value");
  EXPECT_DEATH(check_even(7).value(), "has_value");
}

TEST(ResultDeathTest, AbortsWhereAValueIsTakenForAnError) {
  EXPECT_DEATH((void)half(8).error(), "has_value");
  EXPECT_DEATH((void)check_even(8).error(), "has_value");
}

TEST(ErrorTest, PutsTheOuterAttemptInFrontAndKeepsTheRest) {
  const Error error = Error(ErrorCode::kNotFound, "open /x", "make it").within("start sandbox");

  EXPECT_EQ(error.message(), "start sandbox: open /x");
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_EQ(error.hint(), "make it");
}

TEST(ErrorTest, NamesTheCallAndTheReasonOfErrno) {
  errno = ENOENT;
  const Error error = Error::from_errno("open /x");

  EXPECT_EQ(error.message(), "open /x: No such file or directory");
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_THAT(error.hint(), IsEmpty());
}

TEST(ErrorTest, TellsWhatMayPassFromWhatWillNot) {
  EXPECT_EQ(Error::from_errno("x", ENOSPC).code(), ErrorCode::kExhausted);
  EXPECT_EQ(Error::from_errno("x", EMFILE).code(), ErrorCode::kExhausted);
  EXPECT_EQ(Error::from_errno("x", EPERM).code(), ErrorCode::kUnsupported);
  EXPECT_EQ(Error::from_errno("x", ENAMETOOLONG).code(), ErrorCode::kInvalid);
  EXPECT_EQ(Error::from_errno("x", EXDEV).code(), ErrorCode::kInvalid);
  EXPECT_EQ(Error::from_errno("x", ELOOP).code(), ErrorCode::kInvalid);
  EXPECT_EQ(Error::from_errno("x", EIO).code(), ErrorCode::kInternal);
}

TEST(ErrorTest, HasWordsForAnErrnoThatNobodyKnows) {
  EXPECT_EQ(Error::from_errno("x", 99'999).message(), "x: error 99999");
  EXPECT_EQ(Error::from_errno("x", -1).message(), "x: error -1");
}

TEST(ErrorTest, FactsAreKeptByWhoeverAddsWords) {
  const Error error = Error::from_errno("write", ENOSPC)
                          .with_retry_after(std::chrono::seconds(3))
                          .within("copy in x")
                          .with_hint("raise --disk");

  EXPECT_EQ(error.os_error(), ENOSPC);
  EXPECT_EQ(error.retry_after(), std::chrono::seconds(3));
  EXPECT_EQ(error.message(), "copy in x: write: No space left on device");
}

}  // namespace
}  // namespace glovebox
