// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/container_network.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>

namespace glovebox::docker {
namespace {

constexpr std::uint16_t kPort = 3128;

ino_t inode_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

ino_t network_of(const std::string& process) {
  struct stat status {};
  return ::stat(("/proc/" + process + "/ns/net").c_str(), &status) == 0 ? status.st_ino : 0;
}

bool raise(const char* device) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, device, IFNAMSIZ - 1);
  request.ifr_flags = IFF_UP;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

bool add_bridge(const char* name) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return ::ioctl(socket.get(), SIOCBRADDBR, name) == 0;
}

// A process in a network of its own, which has done `before`, until this is gone.
class Other {
 public:
  explicit Other(const std::function<bool()>& before) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const UniqueFd told(ends[0]);
    UniqueFd tells(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      const bool ready = ::unshare(CLONE_NEWNET) == 0 && raise("lo") && before();
      (void)!::write(tells.get(), ready ? "y" : "n", 1);
      for (;;) {
        ::pause();
      }
    }
    tells.reset();
    char answer = 'n';
    ready_ = ::read(told.get(), &answer, 1) == 1 && answer == 'y';
    pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  ~Other() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  [[nodiscard]] std::string number() const { return std::to_string(pid_); }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
  UniqueFd pidfd_;
};

class ContainerNetworkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "only root can enter the network of a container";
    }
  }
};

TEST_F(ContainerNetworkTest, TheSocketsAreInTheOtherNetworkAndWeAreNot) {
  const ino_t own = network_of("self");
  const Other other([] { return true; });
  ASSERT_TRUE(other.ready());
  const auto out = way_out_of(other.pidfd(), kPort);
  ASSERT_TRUE(out) << out.error().message();
  for (const int socket : {out->listener.get(), out->names.get()}) {
    const UniqueFd network(::ioctl(socket, SIOCGSKNS));
    EXPECT_EQ(inode_of(network.get()), network_of(other.number()));
  }
  EXPECT_EQ(network_of("self"), own);
  EXPECT_EQ(network_of("thread-self"), own);
}

// In a process that has left the machine's network: where this fails, it changes the network that
// it is in.
TEST_F(ContainerNetworkTest, OurOwnIsRefused) {
  const Other other([] {
    const UniqueFd ourselves(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    const auto out = way_out_of(ourselves.get(), kPort);
    return !out && out.error().code() == ErrorCode::kUnsupported;
  });
  EXPECT_TRUE(other.ready());
}

TEST_F(ContainerNetworkTest, OneWithAnotherDeviceThatIsUpIsRefused) {
  const Other other([] { return add_bridge("other0") && raise("other0"); });
  ASSERT_TRUE(other.ready()) << "the kernel makes no bridge";
  const auto out = way_out_of(other.pidfd(), kPort);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace glovebox::docker
