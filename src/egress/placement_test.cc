// SPDX-License-Identifier: Apache-2.0
#include "egress/placement.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox::egress {
namespace {

std::vector<int> processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof(set), &set), 0);
  std::vector<int> all;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) {
      all.push_back(processor);
    }
  }
  return all;
}

void stay_on(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
}

struct Connection {
  UniqueFd client;
  UniqueFd server;
};

Connection connect_on_loopback() {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener.get(), generic, size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), generic, &size), 0);
  Connection made;
  made.client = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(made.client.get(), generic, size), 0);
  made.server = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return made;
}

TEST(PlacementTest, FollowsAPeerFromProcessorToProcessorAndReturnsToAll) {
  // In a thread of its own, whose processors are its own.
  std::thread([] {
    const std::vector<int> all = processors();
    const Connection connection = connect_on_loopback();
    Placement placement;
    for (const int processor : all) {
      std::thread([&] {
        stay_on(processor);
        ASSERT_EQ(::send(connection.client.get(), "x", 1, MSG_NOSIGNAL), 1);
      }).join();
      char byte = 0;
      ASSERT_EQ(::recv(connection.server.get(), &byte, 1, 0), 1);
      placement.follow(connection.server.get());
      EXPECT_EQ(processors(), std::vector<int>{processor});
    }
    placement.release();
    EXPECT_EQ(processors(), all);
  }).join();
}

TEST(PlacementTest, StaysWhereItIsWithoutASocket) {
  std::thread([] {
    const std::vector<int> all = processors();
    Placement placement;
    placement.follow(-1);
    EXPECT_EQ(processors(), all);
  }).join();
}

}  // namespace
}  // namespace glovebox::egress
