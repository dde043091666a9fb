// SPDX-License-Identifier: Apache-2.0
#include "store/secret_records.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"
#include "store/tenant_records.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr SystemTime kNow{1'800'000'000s};
constexpr std::string_view kValue = "a value that nobody may read";

class SecretRecordsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "glovebox-store.XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    ASSERT_TRUE(open());
  }
  void TearDown() override {
    database_.reset();
    ASSERT_TRUE(sys::remove_tree(directory_));
  }

  Result<void> open() {
    secrets_.reset();
    database_.reset();
    database_ = Database::open(directory_ + "/test.db").value();
    secrets_.emplace(*database_, key_file().path());
    return secrets_->prepare(directory_ + "/test.db");
  }
  [[nodiscard]] SecretKeyFile key_file() const {
    return SecretKeyFile(directory_ + "/secrets.key");
  }
  Result<void> insert(const std::string& name,
                      std::string_view value = kValue,
                      const std::string& tenant = "default") {
    return secrets_->insert({tenant, name, tenant + "-" + name, 1, {}, kNow, kNow}, value);
  }
  template <typename... Parameters>
  Result<void> run(Sql sql, const Parameters&... parameters) {
    return database_->write([&](Connection& connection) -> Result<void> {
      (void)GB_TRY(connection.run(sql, parameters...));
      return {};
    });
  }
  // Whether any file of the directory but the key file holds these bytes.
  [[nodiscard]] bool is_on_disk(std::string_view bytes) const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string content{std::istreambuf_iterator<char>(in), {}};
      if (content.find(bytes) != std::string::npos) {
        return true;
      }
    }
    return false;
  }

  std::string directory_;
  std::unique_ptr<Database> database_;
  std::optional<SecretRecords> secrets_;
};

TEST_F(SecretRecordsTest, ASecretIsFoundByNameOrIdByItsTenantOnly) {
  SecretRecords& secrets = *secrets_;
  ASSERT_TRUE(TenantRecords(*database_).insert({.name = "other"}));
  const SecretRecord key{"default", "key", "s-1", 1, {{"for", "mail"}}, kNow, kNow};
  ASSERT_TRUE(secrets.insert(key, "value"));
  EXPECT_EQ(secrets.find("default", "key").value(), key);
  EXPECT_EQ(secrets.find("default", "s-1").value(), key);
  EXPECT_EQ(secrets.find("other", "s-1").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(secrets.change("other", "s-1", "x", {}, kNow).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(secrets.remove("other", "s-1").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(secrets.insert(key, "again").error().code(), ErrorCode::kConflict);
  ASSERT_TRUE(secrets.insert({"default", "later", "s-2", 1, {}, kNow, kNow}, "value"));
  EXPECT_THAT(secrets.of_tenant("default", "", 1).value(), ::testing::ElementsAre(key));
  EXPECT_EQ(secrets.of_tenant("default", "key", 9).value().size(), 1U);
  EXPECT_EQ(secrets.count("default").value(), 2U);
  EXPECT_EQ(secrets.count("other").value(), 0U);
  EXPECT_TRUE(secrets.of_tenant("other", "", 9).value().empty());
  EXPECT_TRUE(secrets.remove("default", "key"));
  EXPECT_EQ(secrets.find("default", "s-1").error().code(), ErrorCode::kNotFound);
}

TEST_F(SecretRecordsTest, AChangedSecretHasAnotherVersionAndValue) {
  SecretRecords& secrets = *secrets_;
  ASSERT_TRUE(secrets.insert({"default", "key", "s-1", 1, {{"a", "1"}}, kNow, kNow}, "old"));
  const auto kept = secrets.change("default", "key", "new", {}, kNow + 1s);
  const SecretRecord expected{"default", "key", "s-1", 2, {{"a", "1"}}, kNow, kNow + 1s};
  EXPECT_EQ(kept.value(), expected);
  EXPECT_EQ(secrets.find("default", "key").value(), expected);
  EXPECT_TRUE(secrets.change("default", "s-1", "newer", {{{"b", "2"}}}, kNow + 2s)
                  .value()
                  .metadata.contains("b"));
  EXPECT_EQ(secrets.value_of("default", "key").value(), "newer");
}

TEST_F(SecretRecordsTest, SecretsGoWithTheirTenant) {
  SecretRecords& secrets = *secrets_;
  TenantRecords tenants(*database_);
  ASSERT_TRUE(tenants.insert({.name = "other"}));
  ASSERT_TRUE(secrets.insert({"other", "key", "s-1", 1, {}, kNow, kNow}, "value"));
  ASSERT_TRUE(tenants.remove("other"));
  EXPECT_EQ(secrets.find("other", "key").error().code(), ErrorCode::kNotFound);
}

TEST_F(SecretRecordsTest, NeitherTheDatabaseNorItsLogHoldsAValueInPlainText) {
  ASSERT_TRUE(insert("key"));
  ASSERT_TRUE(secrets_->change("default", "key", "another of these values", {}, kNow));
  EXPECT_FALSE(is_on_disk(kValue));
  EXPECT_FALSE(is_on_disk("another of these values"));
  EXPECT_TRUE(is_on_disk("default-key"));  // So it does look.
  ASSERT_TRUE(open());
  EXPECT_EQ(secrets_->value_of("default", "key").value(), "another of these values");
}

TEST_F(SecretRecordsTest, TheKeyFileIsItsOwnersAlone) {
  struct stat status {};
  ASSERT_EQ(::stat(key_file().path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::chmod(key_file().path().c_str(), 0640), 0);
  EXPECT_EQ(insert("key").error().code(), ErrorCode::kRefused);
  EXPECT_FALSE(open());
}

TEST_F(SecretRecordsTest, WhatAnOlderVersionStoredIsSealedAndLeavesNoTrace) {
  const std::string path = directory_ + "/old.db";
  {
    const auto old = Database::open(path, migrations().first(4)).value();
    for (const char* name : {"first", "second"}) {
      ASSERT_TRUE(old->write([name](Connection& connection) -> Result<void> {
        (void)GB_TRY(connection.run(
            "INSERT INTO secrets (tenant, name, id, value, version, metadata, created, updated)"
            " VALUES ('default', ?1, ?1, ?2, 7, '{}', 0, 0)",
            name, kValue));
        return {};
      }));
    }
    ASSERT_TRUE(old->write([](Connection& connection) -> Result<void> {
      (void)GB_TRY(connection.run("DELETE FROM secrets WHERE name = 'second'"));
      return {};
    }));
  }
  ASSERT_TRUE(is_on_disk(kValue));
  const auto database = Database::open(path).value();
  SecretRecords secrets(*database, directory_ + "/old.key");
  ASSERT_TRUE(secrets.prepare(path));
  EXPECT_EQ(secrets.value_of("default", "first").value(), kValue);
  EXPECT_EQ(secrets.find("default", "first").value().version, 7U);
  EXPECT_FALSE(is_on_disk(kValue));
  EXPECT_TRUE(secrets.prepare(path));
}

TEST_F(SecretRecordsTest, ARotationKeepsEveryValueAndForgetsTheOldKey) {
  ASSERT_TRUE(TenantRecords(*database_).insert({.name = "other"}));
  ASSERT_TRUE(insert("key"));
  ASSERT_TRUE(insert("key", "theirs", "other"));
  const auto before = key_file().read().value();
  EXPECT_EQ(secrets_->rotate_key().value(), 2U);
  const auto after = key_file().read().value();
  ASSERT_EQ(after.size(), 1U);
  EXPECT_NE(after[0].bytes, before[0].bytes);
  EXPECT_EQ(secrets_->value_of("default", "key").value(), kValue);
  EXPECT_EQ(secrets_->value_of("other", "key").value(), "theirs");
  // The old key opens nothing any more.
  ASSERT_TRUE(key_file().write(before));
  EXPECT_FALSE(secrets_->value_of("default", "key"));
}

TEST_F(SecretRecordsTest, AnotherProcessGoesOnAcrossARotation) {
  const auto theirs = Database::open(directory_ + "/test.db").value();
  SecretRecords command(*theirs, key_file().path());
  ASSERT_TRUE(insert("before"));
  ASSERT_TRUE(command.prepare(directory_ + "/test.db"));
  EXPECT_EQ(command.rotate_key().value(), 1U);
  ASSERT_TRUE(insert("after"));
  EXPECT_EQ(secrets_->value_of("default", "before").value(), kValue);
  EXPECT_EQ(command.value_of("default", "after").value(), kValue);
}

TEST_F(SecretRecordsTest, ARotationThatWasCutShortLosesNothingAndIsFinished) {
  ASSERT_TRUE(insert("key"));
  // The new key is on the disk, and no value is sealed with it yet.
  auto keys = key_file().read().value();
  keys.insert(keys.begin(), SecretKey::random().value());
  ASSERT_TRUE(key_file().write(keys));
  EXPECT_EQ(secrets_->value_of("default", "key").value(), kValue);
  ASSERT_TRUE(open());
  ASSERT_EQ(key_file().read().value().size(), 1U);
  EXPECT_EQ(key_file().read().value()[0].id, keys[0].id);
  EXPECT_EQ(secrets_->value_of("default", "key").value(), kValue);
  // All values are sealed with the new key, and the old one is still there.
  keys.push_back(SecretKey::random().value());
  ASSERT_TRUE(key_file().write(keys));
  ASSERT_TRUE(open());
  EXPECT_EQ(key_file().read().value().size(), 1U);
  EXPECT_EQ(secrets_->value_of("default", "key").value(), kValue);
}

TEST_F(SecretRecordsTest, AValueOpensInItsOwnRowOnly) {
  ASSERT_TRUE(insert("mine"));
  ASSERT_TRUE(insert("other", "something else"));
  ASSERT_TRUE(
      run("UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE name = 'mine')"
          " WHERE name = 'other'"));
  EXPECT_TRUE(secrets_->value_of("default", "mine"));
  EXPECT_EQ(secrets_->value_of("default", "other").error().code(), ErrorCode::kUnavailable);
  ASSERT_TRUE(run("UPDATE secrets SET version = 2 WHERE name = 'mine'"));
  EXPECT_FALSE(secrets_->value_of("default", "mine"));
}

TEST_F(SecretRecordsTest, AChangedByteIsNoticed) {
  const SecretKey key = SecretKey::random().value();
  const std::string sealed = seal(key, kValue, "row").value();
  EXPECT_EQ(unseal({key}, sealed, "row").value(), kValue);
  EXPECT_NE(seal(key, kValue, "row").value(), sealed);  // Each has a nonce of its own.
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(unseal({key}, changed, "row")) << i;
    EXPECT_FALSE(unseal({key}, sealed.substr(0, i), "row")) << i;
  }
  EXPECT_FALSE(unseal({key}, sealed, "another row"));
  EXPECT_FALSE(unseal({SecretKey::random().value()}, sealed, "row"));
}

TEST_F(SecretRecordsTest, SecretsWithoutTheirKeyFileAreNotPassedOver) {
  ASSERT_TRUE(insert("key"));
  std::filesystem::rename(key_file().path(), directory_ + "/away");
  EXPECT_EQ(open().error().code(), ErrorCode::kUnavailable);
  std::filesystem::rename(directory_ + "/away", key_file().path());
  ASSERT_TRUE(open());
  EXPECT_EQ(secrets_->value_of("default", "key").value(), kValue);
}

}  // namespace
}  // namespace glovebox
