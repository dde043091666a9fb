// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "json_guard.h"

namespace glovebox::jupyter {
namespace {

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "connection.XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  Connection create() {
    auto connection = Connection::create(root_);
    EXPECT_TRUE(connection);
    return std::move(connection).value();
  }

  std::filesystem::path root_;
};

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777U;
}

Json read_json(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST_F(ConnectionTest, OnlyTheUserMayEnterTheFolderOrReadTheKey) {
  umask(0);
  const Connection connection = create();
  EXPECT_EQ(mode_of(connection.file()), 0600U);
  EXPECT_EQ(mode_of(std::filesystem::path(connection.file()).parent_path()), 0700U);
}

TEST_F(ConnectionTest, TheFileNamesTheEndpointsThatWeConnectTo) {
  const Connection connection = create();
  const Json file = read_json(connection.file());
  EXPECT_EQ(file.at("transport"), "ipc");
  EXPECT_EQ(file.at("signature_scheme"), "hmac-sha256");
  EXPECT_EQ(file.at("key"), connection.key());
  const char* const ports[] = {"shell_port", "control_port", "stdin_port", "iopub_port"};
  for (std::size_t i = 0; i < std::size(kChannels); ++i) {
    EXPECT_EQ(connection.endpoint(kChannels[i]), "ipc://" + file.at("ip").get<std::string>() + "-" +
                                                     std::to_string(file.at(ports[i]).get<int>()));
  }
}

TEST_F(ConnectionTest, EndpointsDifferAndFitASocketAddress) {
  const Connection connection = create();
  std::set<std::string> endpoints;
  for (const Channel channel : kChannels) {
    endpoints.insert(connection.endpoint(channel));
    EXPECT_LT(connection.endpoint(channel).size(), 100U);
  }
  EXPECT_EQ(endpoints.size(), 4U);
}

TEST_F(ConnectionTest, KeysAreNeverTheSame) {
  const Connection one = create();
  const Connection two = create();
  EXPECT_EQ(one.key().size(), 64U);
  EXPECT_NE(one.key(), two.key());
}

TEST_F(ConnectionTest, NothingIsLeftBehindAndNoLinkIsFollowed) {
  std::ofstream(root_ / "kept") << "x";
  {
    const Connection connection = create();
    const auto folder = std::filesystem::path(connection.file()).parent_path();
    std::filesystem::create_directory_symlink(root_, folder / "link");
  }
  EXPECT_TRUE(std::filesystem::exists(root_ / "kept"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root_), {}), 1);
}

}  // namespace
}  // namespace glovebox::jupyter
