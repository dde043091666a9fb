// SPDX-License-Identifier: Apache-2.0
// The small repositories: tenants, API keys, templates, volumes.
#include <cstdlib>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"
#include "spec/limit_fields.h"
#include "store/api_key_records.h"
#include "store/json_columns.h"
#include "store/sandbox_records.h"
#include "store/template_build_records.h"
#include "store/template_records.h"
#include "store/tenant_records.h"
#include "store/volume_records.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr SystemTime kNow{1'800'000'000s};

class RecordsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "glovebox-store.XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    database_ = Database::open(directory_ + "/test.db").value();
  }
  void TearDown() override {
    database_.reset();
    ASSERT_TRUE(sys::remove_tree(directory_));
  }
  static ApiKeyRecord key(const std::string& id, const std::string& tenant = "default") {
    ApiKeyRecord record;
    record.id = id;
    record.tenant = tenant;
    record.hash = std::string(31, '\xff') + '\0';
    record.scopes = {"run", "read"};
    record.last_four = "abcd";
    record.created = kNow;
    return record;
  }

  std::string directory_;
  std::unique_ptr<Database> database_;
};

TEST_F(RecordsTest, TheDefaultTenantIsThereFromTheStart) {
  const auto tenants = TenantRecords(*database_).all().value();
  ASSERT_EQ(tenants.size(), 1U);
  EXPECT_EQ(tenants[0].name, kDefaultTenant);
  EXPECT_EQ(tenants[0].quotas, TenantQuotas());
}

TEST_F(RecordsTest, ATenantComesBackWithItsQuotas) {
  TenantRecords tenants(*database_);
  TenantRecord record{.name = "a", .created = kNow};
  record.quotas = {.sandboxes = 1,
                   .memory = 2_GiB,
                   .cpus = 0.5,
                   .disk = Bytes{0},
                   .executions = 4,
                   .requests_per_second = 5.5,
                   .burst = 6};
  ASSERT_TRUE(tenants.insert(record));
  EXPECT_EQ(tenants.all().value().front(), record);
  record.quotas.memory.reset();
  ASSERT_TRUE(tenants.set_quotas("a", record.quotas));
  EXPECT_EQ(tenants.all().value().front(), record);
  EXPECT_EQ(tenants.insert(record).error().code(), ErrorCode::kConflict);
  EXPECT_EQ(tenants.set_quotas("b", {}).error().code(), ErrorCode::kNotFound);
}

TEST_F(RecordsTest, ATenantWithVolumesStaysAndOneWithoutGoesWithItsKeys) {
  TenantRecords tenants(*database_);
  VolumeRecords volumes(*database_);
  ApiKeyRecords keys(*database_);
  ASSERT_TRUE(tenants.insert({.name = "a"}));
  ASSERT_TRUE(keys.insert(key("0123456789", "a")));
  ASSERT_TRUE(volumes.insert({"a", "data", "vol-1", 1_MiB, 64, "", kNow}));
  EXPECT_EQ(tenants.remove("a").error().code(), ErrorCode::kConflict);
  ASSERT_TRUE(volumes.remove("a", "vol-1"));
  ASSERT_TRUE(tenants.remove("a"));
  EXPECT_TRUE(keys.all().value().empty());
  EXPECT_EQ(tenants.remove("a").error().code(), ErrorCode::kNotFound);
}

TEST_F(RecordsTest, AnApiKeyComesBackAsItWas) {
  ApiKeyRecords keys(*database_);
  ApiKeyRecord record = key("0123456789");
  record.expires = kNow + 1h;
  ASSERT_TRUE(keys.insert(record));
  EXPECT_THAT(keys.all().value(), ::testing::ElementsAre(record));
  EXPECT_THAT(keys.of_tenant("default").value(), ::testing::ElementsAre(record));
  EXPECT_TRUE(keys.of_tenant("other").value().empty());
}

TEST_F(RecordsTest, ARevocationKeepsItsFirstTimeAndIsTheTenantsOwn) {
  ApiKeyRecords keys(*database_);
  ASSERT_TRUE(keys.insert(key("0123456789")));
  EXPECT_EQ(keys.revoke("other", "0123456789", kNow).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(keys.all().value()[0].revoked, std::nullopt);
  ASSERT_TRUE(keys.revoke("default", "0123456789", kNow + 1s));
  ASSERT_TRUE(keys.revoke("default", "0123456789", kNow + 2s));
  EXPECT_EQ(keys.all().value()[0].revoked, kNow + 1s);
}

TEST_F(RecordsTest, ARotationNeverLengthensTheOldKeyAndHappensWholly) {
  ApiKeyRecords keys(*database_);
  ApiKeyRecord old = key("0123456789");
  old.expires = kNow + 1min;
  ASSERT_TRUE(keys.insert(old));
  ASSERT_TRUE(keys.rotate(old.id, kNow + 1h, key("9876543210")));
  EXPECT_EQ(keys.all().value()[0].expires, kNow + 1min);
  // The new id is taken: the old key must not lose its time.
  EXPECT_EQ(keys.rotate("9876543210", kNow, key(old.id)).error().code(), ErrorCode::kConflict);
  EXPECT_EQ(keys.all().value()[1].expires, std::nullopt);
  ASSERT_TRUE(keys.revoke("default", old.id, kNow));
  EXPECT_EQ(keys.rotate(old.id, kNow, key("5555555555")).error().code(), ErrorCode::kNotFound);
}

TEST_F(RecordsTest, AKeyOfAnUnknownTenantOrWithHalfAHashIsRefused) {
  ApiKeyRecords keys(*database_);
  EXPECT_EQ(keys.insert(key("0123456789", "nobody")).error().code(), ErrorCode::kNotFound);
  ApiKeyRecord half = key("0123456789");
  half.hash.resize(16);
  EXPECT_EQ(keys.insert(half).error().code(), ErrorCode::kInvalid);
}

TEST_F(RecordsTest, ATenantsTemplateHidesTheSharedOneOfItsNameForItAlone) {
  TemplateRecords templates(*database_);
  const TemplateRecord shared{"", "base", "host", "h1", "", "{}", kNow};
  const TemplateRecord other{"", "zoo", "oci:x", "h2", "base", R"({"a":1})", kNow};
  const TemplateRecord own{"default", "base", "snapshot", "h3", "sbx-1", "{}", kNow};
  for (const TemplateRecord& record : {shared, other, own}) {
    ASSERT_TRUE(templates.put(record));
  }
  EXPECT_EQ(templates.find("default", "base").value(), own);
  EXPECT_EQ(templates.find("else", "base").value(), shared);
  EXPECT_THAT(templates.visible_to("default").value(), ::testing::ElementsAre(own, other));
  EXPECT_THAT(templates.visible_to("else").value(), ::testing::ElementsAre(shared, other));
  EXPECT_EQ(templates.remove("else", "base").error().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(templates.remove("default", "base"));
  EXPECT_EQ(templates.find("default", "base").value(), shared);
  EXPECT_EQ(templates.find("default", "none").error().code(), ErrorCode::kNotFound);
}

TEST_F(RecordsTest, ATemplateIsReplacedAndItsOldContentNoLongerUsed) {
  TemplateRecords templates(*database_);
  TemplateRecord record{"default", "mine", "host", "h1", "", "{}", kNow};
  ASSERT_TRUE(templates.put(record));
  record.content_hash = "h2";
  ASSERT_TRUE(templates.put(record));
  EXPECT_EQ(templates.find("default", "mine").value(), record);
  EXPECT_FALSE(templates.uses_content("h1").value());
  EXPECT_TRUE(templates.uses_content("h2").value());
}

TEST_F(RecordsTest, ATemplateIsCopiedUnderAllNamesOrNone) {
  TemplateRecords templates(*database_);
  const TemplateRecord mine{"default", "mine", "recipe", "h1", "base", R"({"a":1})", kNow};
  ASSERT_TRUE(templates.put(mine));
  ASSERT_TRUE(templates.put({"default", "mine:v1", "snapshot", "h0", "", "{}", kNow}));
  const SystemTime later = kNow + std::chrono::seconds(1);
  const std::vector<std::string> names = {"mine:v1", "mine:v2", "mine"};
  ASSERT_TRUE(templates.copy("default", "mine", names, later));
  for (const std::string& name : names) {
    TemplateRecord expected = mine;
    expected.name = name;
    expected.created = later;
    EXPECT_EQ(templates.find("default", name).value(), expected);
  }
  EXPECT_FALSE(templates.uses_content("h0").value());
  EXPECT_EQ(templates.copy("default", "none", names, later).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(templates.copy("other", "mine", names, later).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(templates.find("other", "mine:v1").error().code(), ErrorCode::kNotFound);
}

TEST_F(RecordsTest, AVolumeIsFoundByNameOrIdByItsTenantOnly) {
  VolumeRecords volumes(*database_);
  ASSERT_TRUE(TenantRecords(*database_).insert({.name = "other"}));
  const VolumeRecord data{"default", "data", "vol-1", 5_GiB, 1'000, "secret", kNow};
  ASSERT_TRUE(volumes.insert(data));
  EXPECT_EQ(volumes.find("default", "data").value(), data);
  EXPECT_EQ(volumes.find("default", "vol-1").value(), data);
  EXPECT_EQ(volumes.find("other", "vol-1").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(volumes.remove("other", "vol-1").error().code(), ErrorCode::kNotFound);
  // Names are the tenant's own, ids are everybody's.
  EXPECT_TRUE(volumes.insert({"other", "data", "vol-2", 1_MiB, 64, "", kNow}));
  EXPECT_EQ(volumes.insert({"other", "more", "vol-1", 1_MiB, 64, "", kNow}).error().code(),
            ErrorCode::kConflict);
  EXPECT_THAT(volumes.of_tenant("default").value(), ::testing::ElementsAre(data));
}

TEST_F(RecordsTest, ANameThatIsAnotherVolumesIdNamesItsOwnVolume) {
  VolumeRecords volumes(*database_);
  ASSERT_TRUE(volumes.insert({"default", "data", "vol-1", 1_MiB, 64, "", kNow}));
  ASSERT_TRUE(volumes.insert({"default", "vol-1", "vol-2", 1_MiB, 64, "", kNow}));
  EXPECT_EQ(volumes.find("default", "vol-1").value().id, "vol-2");
}

TEST(JsonColumnTest, WhatWeDidNotWriteIsDamageAndNoCrash) {
  for (const char* column : {"", "{", "null", "7", "[1]", "[[\"a\"]]", "{\"a\":1}", "[{}]"}) {
    EXPECT_FALSE(json_column::to_texts(column)) << column;
    EXPECT_FALSE(json_column::to_map(column)) << column;
    EXPECT_FALSE(json_column::to_environment(column)) << column;
  }
  for (const char* column : {"[]", R"({"pids":-1})", R"({"pids":4294967296})", R"({"wall_ms":"1"})",
                             R"({"memory":-1})", R"({"cpus":true})"}) {
    EXPECT_FALSE(json_column::to_limits(column)) << column;
  }
}

TEST(JsonColumnTest, EveryLimitIsReadBackAsItWasWritten) {
  each_limit([](const auto& field) {
    using Value = typename std::decay_t<decltype(field)>::Value;
    Limits limits;
    limits.*field.limit = Value(77);
    EXPECT_EQ(json_column::to_limits(json_column::from_limits(limits)).value(), limits)
        << field.name;
  });
  EXPECT_EQ(json_column::to_limits(R"({"wall_ms":5})").value().wall, std::chrono::milliseconds(5));
}

TEST(JsonColumnTest, ALimitThatAFormerVersionDidNotKnowHasItsDefault) {
  const Limits limits = json_column::to_limits(R"({"pids":3})").value();
  EXPECT_EQ(limits.pids, 3U);
  EXPECT_EQ(limits.memory, Limits().memory);
}

TEST_F(RecordsTest, ABuildThatNobodyWorksOnAnyMoreHasFailedAndOneThatEndedHasNot) {
  TemplateBuildRecords builds(*database_);
  using State = TemplateBuildRecord::State;
  TemplateBuildRecord done{"default", "b-1", "mine", State::kUnderWay, "", "", kNow};
  const TemplateBuildRecord left{"default", "b-2", "mine", State::kUnderWay, "", "", kNow};
  ASSERT_TRUE(builds.put(done, kNow));
  ASSERT_TRUE(builds.put(left, kNow));
  done.state = State::kReady;
  ASSERT_TRUE(builds.put(done, kNow));
  ASSERT_TRUE(builds.fail_all_under_way("it ended"));
  EXPECT_EQ(builds.find("default", "b-1").value(), done);
  const TemplateBuildRecord failed = builds.find("default", "b-2").value();
  EXPECT_EQ(failed.state, State::kFailed);
  EXPECT_EQ(failed.reason, "it ended");
  EXPECT_EQ(builds.find("other", "b-1").error().code(), ErrorCode::kNotFound);
}

TEST_F(RecordsTest, BuildsOfLongAgoAreForgotten) {
  TemplateBuildRecords builds(*database_);
  using State = TemplateBuildRecord::State;
  ASSERT_TRUE(builds.put({"default", "b-1", "mine", State::kReady, "", "", kNow}, kNow));
  ASSERT_TRUE(builds.put({"default", "b-2", "mine", State::kReady, "", "", kNow + 2s}, kNow + 1s));
  EXPECT_EQ(builds.find("default", "b-1").error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(builds.find("default", "b-2"));
}

}  // namespace
}  // namespace glovebox
