// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/export_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace glovebox::keeper {
namespace {

namespace fs = std::filesystem;

class ExportKeyTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(scratch_.data()), nullptr);
    fs::create_directories(scratch_ + "/one/keys");
    fs::create_directories(scratch_ + "/two/keys");
  }
  void TearDown() override { fs::remove_all(scratch_); }

  [[nodiscard]] std::string file(const char* data) const {
    return scratch_ + "/" + data + "/keys/export-key";
  }
  [[nodiscard]] Result<ExportKey> open(const char* data) const {
    return ExportKey::open(scratch_ + "/" + data);
  }

  std::string scratch_ = "/tmp/export-key-XXXXXX";
};

TEST_F(ExportKeyTest, WhatItHasSignedItKnowsWhenItIsOpenedAgain) {
  const std::string signature = open("one")->sign("text");
  EXPECT_TRUE(open("one")->has_signed("text", signature));
  EXPECT_FALSE(open("one")->has_signed("texts", signature));
  EXPECT_FALSE(open("one")->has_signed("text", signature.substr(1)));
  EXPECT_FALSE(open("one")->has_signed("text", ""));
}

TEST_F(ExportKeyTest, EachDataDirectoryHasItsOwnUntilItIsCopied) {
  const std::string signature = open("one")->sign("text");
  EXPECT_FALSE(open("two")->has_signed("text", signature));
  fs::copy_file(file("one"), file("two"), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(open("two")->has_signed("text", signature));
}

TEST_F(ExportKeyTest, OneThatOthersCanReadOrThatIsCutOffIsRefused) {
  ASSERT_TRUE(open("one").has_value());
  ASSERT_EQ(::chmod(file("one").c_str(), 0640), 0);
  EXPECT_FALSE(open("one").has_value());
  ASSERT_EQ(::chmod(file("one").c_str(), 0600), 0);
  EXPECT_TRUE(open("one").has_value());
  fs::resize_file(file("one"), 63);
  EXPECT_FALSE(open("one").has_value());
}

}  // namespace
}  // namespace glovebox::keeper
