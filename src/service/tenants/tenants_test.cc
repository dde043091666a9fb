// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/tenants.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

class TenantsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "glovebox-tenants.XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    restart();
  }
  void TearDown() override {
    tenants_.reset();
    database_.reset();
    ASSERT_TRUE(sys::remove_tree(directory_));
  }
  void restart() {
    tenants_.reset();
    database_.reset();
    database_ = Database::open(directory_ + "/test.db").value();
    tenants_ = Tenants::open(*database_, [this] { return now_; }).value();
  }
  NewApiKey make(const std::string& tenant = "default",
                 std::optional<SystemTime> expires = std::nullopt) {
    return tenants_->create_key(tenant, {"run", "read"}, expires).value();
  }
  bool works(const NewApiKey& key) { return tenants_->authenticate(key.key).has_value(); }

  SystemTime now_{1'800'000'000s};
  std::string directory_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Tenants> tenants_;
};

TEST_F(TenantsTest, AKeyNamesItsTenantAndScopesAlsoAfterARestart) {
  ASSERT_TRUE(tenants_->create_tenant("a", {}));
  const NewApiKey key = make("a");
  const KeyHolder expected{"a", {"run", "read"}, key.record.id};
  EXPECT_EQ(tenants_->authenticate(key.key).value(), expected);
  restart();
  EXPECT_EQ(tenants_->authenticate(key.key).value(), expected);
}

TEST_F(TenantsTest, AllThatAreWrongGetTheSameAnswer) {
  const NewApiKey key = make();
  std::string other_secret = key.key;
  other_secret.back() = other_secret.back() == '0' ? '1' : '0';
  std::string other_id = key.key;
  other_id[4] = other_id[4] == '0' ? '1' : '0';
  const Error nobody = tenants_->authenticate("").error();
  EXPECT_EQ(nobody.code(), ErrorCode::kRefused);
  for (const std::string& wrong : {other_secret, other_id, key.key + "0", key.key.substr(0, 67),
                                   "e2b_" + std::string(64, '0'), std::string(1 << 20, 'e')}) {
    const auto answer = tenants_->authenticate(wrong);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().message(), nobody.message());
    EXPECT_EQ(answer.error().hint(), nobody.hint());
  }
  EXPECT_TRUE(works(key));
}

TEST_F(TenantsTest, NoKeyIsInTheFilesOfTheDatabase) {
  const NewApiKey key = make();
  std::string bytes;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    std::ifstream file(entry.path(), std::ios::binary);
    bytes.append(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_NE(bytes.find(key.record.id), std::string::npos);
  EXPECT_EQ(bytes.find(key.key.substr(20)), std::string::npos);
}

TEST_F(TenantsTest, ARevokedKeyIsRefusedByTheNextRequestAndForEver) {
  const NewApiKey key = make();
  EXPECT_EQ(tenants_->revoke_key("other", key.record.id).error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(works(key));
  ASSERT_TRUE(tenants_->revoke_key("default", key.record.id));
  EXPECT_FALSE(works(key));
  restart();
  EXPECT_FALSE(works(key));
}

TEST_F(TenantsTest, AKeyEndsAtItsExpiry) {
  const NewApiKey key = make("default", now_ + 1h);
  now_ += 1h - 1ns;
  EXPECT_TRUE(works(key));
  now_ += 1ns;
  EXPECT_FALSE(works(key));
}

TEST_F(TenantsTest, BothKeysOfARotationWorkUntilTheGraceIsOver) {
  const NewApiKey old = make();
  const NewApiKey fresh = tenants_->rotate_key("default", old.record.id, 60s).value();
  EXPECT_TRUE(works(old));
  EXPECT_EQ(tenants_->authenticate(fresh.key).value().scopes, old.record.scopes);
  now_ += 60s;
  EXPECT_FALSE(works(old));
  EXPECT_TRUE(works(fresh));
  restart();
  EXPECT_FALSE(works(old));
  EXPECT_TRUE(works(fresh));
}

TEST_F(TenantsTest, ARotationRevivesNoDeadKey) {
  const NewApiKey old = make();
  EXPECT_EQ(tenants_->rotate_key("other", old.record.id, 0s).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(tenants_->rotate_key("default", old.record.id, -1s).error().code(),
            ErrorCode::kInvalid);
  ASSERT_TRUE(tenants_->revoke_key("default", old.record.id));
  EXPECT_EQ(tenants_->rotate_key("default", old.record.id, 0s).error().code(),
            ErrorCode::kConflict);
}

TEST_F(TenantsTest, ScopesAreOfThoseThatExist) {
  for (const std::vector<std::string>& scopes :
       std::vector<std::vector<std::string>>{{},
                                             {"root"},
                                             {"run", ""},
                                             {"run", "run", "run", "run", "run"}}) {
    EXPECT_EQ(tenants_->create_key("default", scopes, {}).error().code(), ErrorCode::kInvalid);
  }
  EXPECT_EQ(tenants_->create_key("nobody", {"run"}, {}).error().code(), ErrorCode::kNotFound);
}

TEST_F(TenantsTest, AListOfKeysIsTheTenantsOwnAndShowsFourCharactersOnly) {
  ASSERT_TRUE(tenants_->create_tenant("a", {}));
  const NewApiKey first = make("a");
  now_ += 1s;
  const NewApiKey second = make("a");
  (void)make();
  const auto keys = tenants_->keys("a").value();
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].id, first.record.id);
  EXPECT_EQ(keys[1].last_four, second.key.substr(64));
  EXPECT_TRUE(keys[0].hash.empty());
  EXPECT_EQ(tenants_->keys("nobody").error().code(), ErrorCode::kNotFound);
}

TEST_F(TenantsTest, TheFirstKeyIsMadeOnceAndMayDoAll) {
  const std::string path = directory_ + "/api-key";
  EXPECT_TRUE(tenants_->make_first_key(path).value());
  std::string key;
  std::ifstream(path) >> key;
  EXPECT_THAT(tenants_->authenticate(key).value().scopes,
              ::testing::ElementsAre("run", "read", "admin", "approve"));
  std::filesystem::remove(path);
  restart();
  EXPECT_FALSE(tenants_->make_first_key(path).value());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(TenantsTest, AFirstKeyThatOnlyTheFileKnowsIsTakenByTheNextStart) {
  const std::string path = directory_ + "/api-key";
  ASSERT_TRUE(tenants_->make_first_key(path).value());
  tenants_.reset();
  database_.reset();
  // As if the daemon had died before its database knew of the key.
  std::filesystem::remove(directory_ + "/test.db");
  restart();
  ASSERT_TRUE(tenants_->make_first_key(path).value());
  std::string key;
  std::ifstream(path) >> key;
  EXPECT_TRUE(tenants_->authenticate(key));
}

TEST_F(TenantsTest, QuotasAreTheTenantsOwnAndChangeAtOnce) {
  ASSERT_TRUE(tenants_->create_tenant("a", {.sandboxes = 1}));
  EXPECT_EQ(tenants_->quotas("a").sandboxes, 1U);
  EXPECT_EQ(tenants_->quotas("default"), TenantQuotas());
  TenantQuotas more;
  more.memory = 1_GiB;
  ASSERT_TRUE(tenants_->set_quotas("a", more));
  EXPECT_EQ(tenants_->quotas("a"), more);
  restart();
  EXPECT_EQ(tenants_->quotas("a"), more);
  EXPECT_EQ(tenants_->set_quotas("b", more).error().code(), ErrorCode::kNotFound);
}

TEST_F(TenantsTest, NamesOfTenantsAreBoundedAndUnique) {
  for (const std::string& name : {std::string(), std::string("A"), std::string("a/b"),
                                  std::string("a\0", 2), std::string(65, 'a')}) {
    EXPECT_EQ(tenants_->create_tenant(name, {}).error().code(), ErrorCode::kInvalid);
  }
  EXPECT_TRUE(tenants_->create_tenant(std::string(64, 'a'), {}));
  const auto taken = tenants_->create_tenant("default", {});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(taken.error().message(), "tenant 'default' already exists");
}

TEST_F(TenantsTest, TheKeysOfARemovedTenantEndWithIt) {
  ASSERT_TRUE(tenants_->create_tenant("a", {}));
  const NewApiKey key = make("a");
  ASSERT_TRUE(tenants_->remove_tenant("a"));
  EXPECT_FALSE(works(key));
  EXPECT_EQ(tenants_->tenants().size(), 1U);
  EXPECT_EQ(tenants_->remove_tenant("default").error().code(), ErrorCode::kConflict);
}

TEST_F(TenantsTest, KeysAreMadeRevokedAndUsedByManyThreadsAtOnce) {
  std::atomic<int> wrong = 0;
  const NewApiKey steady = make();
  std::atomic<bool> done = false;
  std::jthread user([&] {
    while (!done) {
      wrong += works(steady) ? 0 : 1;
    }
  });
  std::vector<std::jthread> makers;
  for (int i = 0; i < 4; ++i) {
    makers.emplace_back([&] {
      for (int j = 0; j < 5; ++j) {
        const NewApiKey key = make();
        wrong += works(key) ? 0 : 1;
        wrong += tenants_->revoke_key("default", key.record.id) ? 0 : 1;
        wrong += works(key) ? 1 : 0;
      }
    });
  }
  makers.clear();
  done = true;
  user.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace glovebox
