// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/json/json.h"
#include "service/keeper/client.h"
#include "service/keeper/codec.h"
#include "service/keeper/wire.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

UniqueFd listen_at(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(socket.get(), SOMAXCONN), 0);
  return socket;
}

class DirectoryTest : public testing::Test {
 protected:
  DirectoryTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "gb-keeper.XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    path_ = directory_ + "/s";
  }
  ~DirectoryTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
  std::string path_;
};

// A keeper without sandboxes, in this process.
class KeeperServerTest : public DirectoryTest {
 protected:
  KeeperServerTest() : stop_(::eventfd(0, EFD_CLOEXEC)) {
    auto keeper = Keeper::start({.directory = directory_});
    EXPECT_TRUE(keeper);
    keeper_ = std::move(keeper).value();
    server_ = std::jthread([this, listening = listen_at(path_)]() mutable {
      EXPECT_TRUE(serve(keeper_, std::move(listening), stop_.get()));
    });
  }
  ~KeeperServerTest() override {
    (void)::eventfd_write(stop_.get(), 1);
    server_.join();
  }

  [[nodiscard]] KeeperWire connect() const {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(path_);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    return KeeperWire(std::move(socket));
  }

  UniqueFd stop_;
  std::shared_ptr<Keeper> keeper_;
  std::jthread server_;
};

TEST_F(KeeperServerTest, NoRequestEndsTheKeeper) {
  KeeperClient client(path_);
  const json strange =
      json::array({5, nullptr, "/nonexistent/x", json::array({1, 2}), {{"a", 1}}, -1, 1.5});
  for (const char* const name :
       {"change", "kill", "emergency_end", "execute", "run", "judge", "start_process", "warm_up",
        "files", "copy_image", "remove_image", "make_image", "image_files", "build_template",
        "export_template", "sweep_contents", "create_context", "fork_context", "cancel"}) {
    for (const json& value : strange) {
      json arguments;
      for (const char* const key : {"sandbox", "context", "order", "request", "record", "expires",
                                    "on_timeout", "image", "to", "tenant", "key", "pid"}) {
        arguments[key] = value;
      }
      if (std::string_view(name) == "warm_up") {
        continue;  // Begins to work with it in the background.
      }
      (void)client.call(name, arguments);
      ASSERT_TRUE(client.call("states", json::object())) << name << " with " << value;
    }
  }
}

TEST_F(KeeperServerTest, ACallWhoseNameIsNoTextIsRefused) {
  KeeperWire wire = connect();
  ASSERT_TRUE(wire.send(MessageType::kRequest, pack({{"call", 5}})));
  const auto message = wire.receive(60s);
  ASSERT_TRUE(message && message.value());
  EXPECT_EQ(message.value()->type, MessageType::kError);
  EXPECT_EQ(decode_error(message.value()->text).code(), ErrorCode::kInvalid);
}

// Somebody who listens and never says anything.
class SilentKeeperTest : public DirectoryTest {
 protected:
  SilentKeeperTest() : listening_(listen_at(path_)) {}
  UniqueFd listening_;
};

TEST_F(SilentKeeperTest, AProbeFindsThatItDoesNotRespondAndOtherCallsFailAtOnce) {
  KeeperClient client(path_);
  EXPECT_TRUE(client.responsive());
  const auto probed = client.probe();
  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(probed.error().hint().empty());
  EXPECT_FALSE(client.responsive());
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(client.call("list", json::object()));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 4s) << "less than one of them would wait";
}

TEST_F(SilentKeeperTest, CallsThatWaitEndWhenItIsFoundOut) {
  KeeperClient client(path_);
  std::jthread stream([&] {
    const auto followed = client.call("execute", json::object(), [](std::string_view) {
      return true;  // For as long as it takes.
    });
    EXPECT_FALSE(followed);
  });
  EXPECT_FALSE(client.probe());
}

TEST_F(SilentKeeperTest, ItsProcessIsFoundAllTheSame) {
  KeeperClient client(path_);
  const UniqueFd process = client.process();
  ASSERT_TRUE(process);
  pollfd alive{process.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&alive, 1, 0), 0);
}

TEST_F(DirectoryTest, AKeeperThatIsGoneCountsAsGoneAndNotAsSilent) {
  KeeperClient client(path_);
  EXPECT_FALSE(client.probe());
  EXPECT_TRUE(client.responsive());
  EXPECT_FALSE(client.process());
}

}  // namespace
}  // namespace glovebox::keeper
