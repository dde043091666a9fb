// SPDX-License-Identifier: Apache-2.0
#include "sandbox/warden_link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/frame.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

// What a warden would hear.
class Heard {
 public:
  Heard() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_ = UniqueFd(ends[0]);
    theirs_ = UniqueFd(ends[1]);
  }

  UniqueFd take_end() { return std::move(ours_); }

  // The payloads that one read finds, as far as they are whole.
  std::vector<std::string> next() {
    std::array<char, 64 * 1024> bytes;
    const ssize_t got = ::recv(theirs_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      parser_.feed({bytes.data(), static_cast<std::size_t>(got)});
    }
    std::vector<std::string> payloads;
    for (Frame frame;;) {
      const auto more = parser_.next(frame);
      if (!more || !*more) {
        return payloads;
      }
      payloads.emplace_back(frame.payload);
    }
  }

 private:
  UniqueFd ours_;
  UniqueFd theirs_;
  FrameParser parser_;
};

TEST(WardenLinkTest, SendsWhatBelongsTogetherAtOnce) {
  Heard heard;
  WardenLink link(heard.take_end());
  WardenLink::Channel channel(link);
  {
    const WardenLink::Together together(link);
    channel.send(warden::Request::kStdin, "one");
    channel.send(warden::Request::kStdin, "two");
    EXPECT_TRUE(heard.next().empty());
  }
  EXPECT_EQ(heard.next(), (std::vector<std::string>{"one", "two"}));
  channel.send(warden::Request::kStdin, "three");
  EXPECT_EQ(heard.next(), (std::vector<std::string>{"three"}));
}

TEST(WardenLinkTest, KeepsTheOrderWhereTheWardenIsSlow) {
  Heard heard;
  WardenLink link(heard.take_end());
  WardenLink::Channel channel(link);
  constexpr std::size_t kMany = 2000;  // More than a socket holds.
  const std::string padding(1000, '.');
  for (std::size_t i = 0; i < kMany; ++i) {
    channel.send(warden::Request::kStdin, std::to_string(i) + padding);
  }
  std::size_t next = 0;
  while (next < kMany) {
    (void)channel.poll();  // What is left goes with it.
    for (const std::string& payload : heard.next()) {
      ASSERT_EQ(payload, std::to_string(next) + padding);
      ++next;
    }
  }
}

}  // namespace
}  // namespace glovebox
