// SPDX-License-Identifier: Apache-2.0
#include "base/sys/send_now.h"

#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.h"

namespace glovebox::sys {
namespace {

class SendNowTest : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_ = UniqueFd(ends[0]);
    theirs_ = UniqueFd(ends[1]);
  }

  UniqueFd ours_;
  UniqueFd theirs_;
};

TEST_F(SendNowTest, SendsWhatGoesAndKeepsTheDescriptorsWithTheFirstByte) {
  const std::string bytes(8U << 20, 'x');
  const std::array<int, 1> passed{ours_.get()};

  const auto sent = send_now(ours_.get(), bytes, passed);

  ASSERT_TRUE(sent);
  EXPECT_GT(*sent, 0U);
  EXPECT_LT(*sent, bytes.size());
  std::vector<UniqueFd> received;
  char first = 0;
  EXPECT_EQ(receive_with(theirs_.get(), {&first, 1}, received, 0), 1);
  EXPECT_EQ(received.size(), 1U);
  std::string rest(*sent - 1, '\0');
  EXPECT_EQ(::recv(theirs_.get(), rest.data(), rest.size(), MSG_WAITALL),
            static_cast<ssize_t>(rest.size()));
  EXPECT_EQ(send_now(ours_.get(), bytes.substr(*sent, 10)), 10U);
}

TEST_F(SendNowTest, SaysThatNobodyListensWithoutASignal) {
  theirs_.reset();
  EXPECT_FALSE(send_now(ours_.get(), "x"));
}

TEST_F(SendNowTest, ForWhoTakesNothingNothingIsSent) {
  while (send_now(ours_.get(), std::string(1U << 20, 'x')).value_or(0) > 0) {
  }
  EXPECT_EQ(send_now(ours_.get(), "x"), 0U);
}

}  // namespace
}  // namespace glovebox::sys
