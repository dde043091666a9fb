// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/api_key.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"
#include "service/tenants/first_key.h"
#include "service/tenants/retry_after.h"

namespace glovebox {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

TEST(ApiKeyTest, KeysHaveTheFormThatClientsOfE2bAcceptAndNoTwoAreTheSame) {
  std::set<std::string> keys;
  for (int i = 0; i < 100; ++i) {
    const std::string key = make_api_key();
    EXPECT_TRUE(std::regex_match(key, std::regex("^e2b_[0-9a-f]{64}$"))) << key;
    EXPECT_EQ(id_of_api_key(key), key.substr(4, 16));
    keys.insert(key);
  }
  EXPECT_EQ(keys.size(), 100U);
}

TEST(ApiKeyTest, WhatHasNotTheFormOfAKeyHasNoId) {
  const std::string key = make_api_key();
  for (const std::string& wrong :
       {std::string(), key.substr(1), key + "0", "E2B_" + key.substr(4), key.substr(0, 67) + "G",
        key.substr(0, 67) + "A", key.substr(0, 67) + '\0', std::string(1 << 20, 'a')}) {
    EXPECT_EQ(id_of_api_key(wrong), std::nullopt);
  }
}

TEST(ApiKeyTest, AHashIsSha256OfTheWholeKey) {
  // sha256sum of "abc": FIPS 180-2, appendix B.1.
  const ApiKeyHash hash = hash_of_api_key("abc");
  EXPECT_EQ(hash[0], 0xba);
  EXPECT_EQ(hash[1], 0x78);
  EXPECT_EQ(hash[31], 0xad);
  EXPECT_TRUE(same_hash(hash, hash_of_api_key("abc")));
  ApiKeyHash other = hash;
  other[31] ^= 1;
  EXPECT_FALSE(same_hash(hash, other));
}

class FirstKeyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "glovebox-key.XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/api-key";
  }
  void TearDown() override { ASSERT_TRUE(sys::remove_tree(directory_)); }
  [[nodiscard]] std::string content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string directory_;
  std::string path_;
};

TEST_F(FirstKeyTest, TheFileHoldsTheKeyAndIsItsOwnersAlone) {
  const ::mode_t before = ::umask(0);
  const std::string key = make_key_file(path_).value();
  (void)::umask(before);
  EXPECT_EQ(content(), key + "\n");
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1);
}

TEST_F(FirstKeyTest, AFileOfAFormerStartIsTakenAsItIs) {
  const std::string key = make_key_file(path_).value();
  EXPECT_EQ(make_key_file(path_).value(), key);
  EXPECT_EQ(content(), key + "\n");
}

TEST_F(FirstKeyTest, WhatAnUnfinishedStartLeftDoesNotHinderTheNext) {
  std::ofstream(path_ + ".new") << "e2b_half";
  EXPECT_TRUE(make_key_file(path_));
}

TEST_F(FirstKeyTest, AFileThatOthersCouldHaveReadOrMadeIsRefusedAndKept) {
  ASSERT_TRUE(make_key_file(path_));
  fs::permissions(path_, fs::perms::others_read, fs::perm_options::add);
  EXPECT_EQ(make_key_file(path_).error().code(), ErrorCode::kRefused);
  fs::rename(path_, directory_ + "/elsewhere");
  fs::permissions(directory_ + "/elsewhere", fs::perms::owner_read);
  fs::create_symlink("elsewhere", path_);
  EXPECT_FALSE(make_key_file(path_));
  fs::remove(path_);
  std::ofstream(path_) << "my notes";
  fs::permissions(path_, fs::perms::owner_read);
  EXPECT_EQ(make_key_file(path_).error().code(), ErrorCode::kRefused);
  EXPECT_EQ(content(), "my notes");
}

TEST(RetryAfterTest, TheWaitIsToldInWholeSecondsWithinItsBounds) {
  EXPECT_EQ(exhausted("full", 0ns).retry_after(), 1s);
  EXPECT_EQ(exhausted("full", 1001ms).retry_after(), 2s);
  EXPECT_EQ(exhausted("full", 100h).retry_after(), 3600s);
  EXPECT_EQ(exhausted("full", 3s).code(), ErrorCode::kExhausted);
  EXPECT_EQ(exhausted("full", 1s).hint(), "try again in 1 second");
}

TEST(RetryAfterTest, NoWordsOfAHintAreTakenForAWait) {
  EXPECT_EQ(Error(ErrorCode::kExhausted, "full", "try again in 3 seconds").retry_after(),
            std::nullopt);
}

}  // namespace
}  // namespace glovebox
