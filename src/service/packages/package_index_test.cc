// SPDX-License-Identifier: Apache-2.0
// What is refused before a sandbox is made; tests/cli/test_live_packages.py has the rest.
#include "service/packages/package_index.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

class PackageIndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = "/tmp/glovebox-index.XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket().data(), socket().size());
    ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    ASSERT_EQ(::chmod(socket().c_str(), 0666), 0);
  }
  void TearDown() override { ASSERT_TRUE(sys::remove_tree(root_)); }

  [[nodiscard]] std::string socket() const { return root_ + "/index.sock"; }

  static std::string refusal(const std::vector<std::string>& texts) {
    const auto indexes = parse_package_indexes(texts);
    return indexes ? "taken" : indexes.error().message() + " / " + indexes.error().hint();
  }

  std::string root_;
  UniqueFd listener_;
};

TEST_F(PackageIndexTest, NamesItsManagerAndASocketThatIsThere) {
  const auto indexes = parse_package_indexes({"pip:" + socket(), "npm:" + socket()});

  ASSERT_TRUE(indexes) << indexes.error().message();
  ASSERT_EQ(indexes->size(), 2U);
  EXPECT_EQ((*indexes)[0], (PackageIndex{PackageManager::kPip, socket()}));
  EXPECT_EQ((*indexes)[1], (PackageIndex{PackageManager::kNpm, socket()}));
  EXPECT_EQ(index_mounts(*indexes).size(), 2U);
}

TEST_F(PackageIndexTest, IsRefusedWithItsMendWhereItCannotServe) {
  EXPECT_THAT(refusal({socket()}), HasSubstr("use pip:SOCKET or npm:SOCKET"));
  EXPECT_THAT(refusal({"pip:index.sock"}), HasSubstr("not an absolute path"));
  EXPECT_THAT(refusal({"pip:" + root_ + "/absent"}), HasSubstr("not a Unix socket"));
  EXPECT_THAT(refusal({"pip:" + root_}), HasSubstr("not a Unix socket"));
  EXPECT_THAT(refusal({"pip:" + socket(), "pip:" + socket()}), HasSubstr("two indexes"));
}

TEST_F(PackageIndexTest, OfRootMustBeOpenToGuests) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "a guest of an ordinary user is that user";
  }
  ASSERT_EQ(::chmod(socket().c_str(), 0600), 0);

  EXPECT_THAT(refusal({"pip:" + socket()}), HasSubstr("chmod 0666"));
}

TEST_F(PackageIndexTest, IsToldToItsOwnManagerOnly) {
  const Environment settings = index_settings({{PackageManager::kNpm, socket()}});

  EXPECT_THAT(settings, Contains(Key("npm_config_registry")));
  EXPECT_THAT(settings, Not(Contains(Key("PIP_INDEX_URL"))));
}

}  // namespace
}  // namespace glovebox
