// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/wire.h"

#include <gtest/gtest.h>

#include <cerrno>

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

}  // namespace
}  // namespace glovebox::keeper
