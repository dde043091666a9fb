// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/wire.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace glovebox::keeper {
namespace {

using std::chrono::seconds;

TEST(ErrorOnTheWireTest, CrossesWithAllThatItCarries) {
  const Error sent = Error::from_errno("write", ENOSPC)
                         .within("take a snapshot")
                         .with_hint("free some space")
                         .with_retry_after(seconds(7));

  const Error got = decode_error(encode(sent));

  EXPECT_EQ(got.code(), ErrorCode::kExhausted);
  EXPECT_EQ(got.message(), sent.message());
  EXPECT_EQ(got.hint(), "free some space");
  EXPECT_EQ(got.os_error(), ENOSPC);
  EXPECT_EQ(got.retry_after(), seconds(7));
}

TEST(ErrorOnTheWireTest, HasNoFactsThatNobodySet) {
  const Error got = decode_error(encode(Error(ErrorCode::kExhausted, "full", "wait 3 seconds")));

  EXPECT_EQ(got.os_error(), 0);
  EXPECT_EQ(got.retry_after(), std::nullopt);
}

TEST(ErrorOnTheWireTest, IsNeverReadOutOfSomethingElse) {
  for (const std::string_view text :
       {"", "[]", "{}", R"({"code":"x","message":"y"})", R"({"code":1,"message":5})",
        R"({"code":99,"message":"y"})", R"({"code":-1,"message":"y"})",
        R"({"code":1.5,"message":"y"})"}) {
    EXPECT_EQ(decode_error(text).message(), "the sandbox keeper sent a malformed error") << text;
  }
  const Error got = decode_error(R"({"code":1,"message":"y","hint":[],"os_error":"2"})");
  EXPECT_EQ(got.code(), ErrorCode::kNotFound);
  EXPECT_EQ(got.hint() + std::to_string(got.os_error()), "0");
}

}  // namespace
}  // namespace glovebox::keeper
