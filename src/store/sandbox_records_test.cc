// SPDX-License-Identifier: Apache-2.0
#include "store/sandbox_records.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include "base/sys/tree.h"
#include "store/tenant_records.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;
using State = SandboxRecord::State;

constexpr auto kAny = Durability::kProcess;

class SandboxRecordsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "glovebox-store.XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    database_ = Database::open(directory_ + "/test.db").value();
    records_.emplace(*database_);
    ASSERT_TRUE(TenantRecords(*database_).insert({.name = "other"}));
  }
  void TearDown() override {
    database_.reset();
    ASSERT_TRUE(sys::remove_tree(directory_));
  }

  static SandboxRecord sample(const std::string& id, std::chrono::nanoseconds created = 0ns) {
    SandboxRecord record;
    record.id = id;
    record.tenant = "default";
    record.slot = "slot-1";
    record.template_name = "default";
    record.tier = "native";
    record.state = State::kRunning;
    record.created = SystemTime(1'800'000'000s + created);
    record.expires = record.created + 300s;
    return record;
  }
  SandboxRecord add(SandboxRecord record) {
    EXPECT_TRUE(records_->insert(record, kAny));
    return record;
  }
  Result<SandboxRecord> end(const std::string& id, SystemTime at) {
    return records_->change(
        "default", id,
        [&](SandboxRecord& record) -> Result<void> {
          record.state = State::kEnded;
          record.ended_at = at;
          return {};
        },
        kAny);
  }

  std::string directory_;
  std::unique_ptr<Database> database_;
  std::optional<SandboxRecords> records_;
};

TEST_F(SandboxRecordsTest, ARecordComesBackAsItWas) {
  SandboxRecord record = sample("a");
  record.state = State::kPaused;
  record.pause_on_timeout = true;
  record.auto_resume = true;
  record.limits = {.wall = 1ms,
                   .cpu_time = 2ms,
                   .memory = Bytes{3},
                   .cpus = 0.3,
                   .pids = 5,
                   .disk = Bytes{1ULL << 60},
                   .inodes = 7,
                   .open_files = 8,
                   .output = Bytes{9},
                   .io_rate = Bytes{10}};
  record.env = {{"B", "1"}, {"A", "with \"quotes\"\n"}, {"B", "2"}};
  record.metadata = {{"user", "ü"}, {"", "empty key"}};
  record.network.allow = {*NetworkRule::parse("example.com:443")};
  record.extra = R"({"door":"e2b"})";
  record.walls = R"({"user_ns":true})";
  record.storage = R"({"storage":"disk"})";
  add(record);
  EXPECT_EQ(records_->find("default", "a").value(), record);
  record.id = "b";
  record.state = State::kEnded;
  record.ended_at = record.created + 1ns;
  add(record);
  EXPECT_EQ(records_->find("default", "b").value(), record);
}

TEST_F(SandboxRecordsTest, NobodyFindsOrChangesWhatIsAnotherTenants) {
  add(sample("a"));
  EXPECT_EQ(records_->find("other", "a").error().code(), ErrorCode::kNotFound);
  const auto changed = records_->change(
      "other", "a", [](SandboxRecord&) { return Result<void>(); }, kAny);
  EXPECT_EQ(changed.error().code(), ErrorCode::kNotFound);
}

TEST_F(SandboxRecordsTest, AnIdIsTakenOnceWhoeverTakesIt) {
  add(sample("a"));
  SandboxRecord theirs = sample("a");
  theirs.tenant = "other";
  EXPECT_EQ(records_->insert(theirs, kAny).error().code(), ErrorCode::kConflict);
}

TEST_F(SandboxRecordsTest, ASandboxOfAnUnknownTenantIsRefused) {
  SandboxRecord record = sample("a");
  record.tenant = "nobody";
  EXPECT_EQ(records_->insert(record, kAny).error().code(), ErrorCode::kNotFound);
}

TEST_F(SandboxRecordsTest, WhatIsTooLongOrNoTextIsInvalidAndLeavesNothing) {
  SandboxRecord record = sample("a");
  record.metadata = {{"key", std::string(70'000, 'x')}};
  EXPECT_EQ(records_->insert(record, kAny).error().code(), ErrorCode::kInvalid);
  record.metadata = {{"key", "\xc3\x28"}};
  EXPECT_EQ(records_->insert(record, kAny).error().code(), ErrorCode::kInvalid);
  record.metadata = {{std::string("a\0b", 3), "x"}};
  EXPECT_EQ(records_->insert(record, kAny).error().code(), ErrorCode::kInvalid);
  record.metadata.clear();
  record.env = {{"A", std::string(2 << 20, 'x')}};
  EXPECT_EQ(records_->insert(record, kAny).error().code(), ErrorCode::kInvalid);
  record.env.clear();
  record.state = State::kEnded;  // Without a time.
  EXPECT_EQ(records_->insert(record, kAny).error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(records_->find("default", "a").error().code(), ErrorCode::kNotFound);
}

TEST_F(SandboxRecordsTest, AnInsertThatNobodyWaitsForIsThereForTheWriteThatFollows) {
  records_->leave_insert(sample("a"), kAny);
  ASSERT_TRUE(records_->insert(sample("b"), kAny));
  EXPECT_TRUE(records_->find("default", "a"));
}

TEST_F(SandboxRecordsTest, AnEditThatRefusesChangesNothing) {
  const SandboxRecord before = add(sample("a"));
  const auto changed = records_->change(
      "default", "a",
      [](SandboxRecord& record) -> Result<void> {
        record.state = State::kPaused;
        return Error(ErrorCode::kConflict, "it is busy");
      },
      kAny);
  EXPECT_EQ(changed.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(records_->find("default", "a").value(), before);
}

TEST_F(SandboxRecordsTest, AnEditCannotGiveASandboxToAnotherTenant) {
  const SandboxRecord before = add(sample("a"));
  const SandboxRecord after = records_
                                  ->change(
                                      "default", "a",
                                      [](SandboxRecord& record) -> Result<void> {
                                        record.tenant = "other";
                                        record.id = "b";
                                        record.extra = "[]";
                                        return {};
                                      },
                                      kAny)
                                  .value();
  EXPECT_EQ(after.tenant, before.tenant);
  EXPECT_EQ(records_->find("default", "a").value(), after);
  EXPECT_EQ(after.extra, "[]");
}

TEST_F(SandboxRecordsTest, ChangesAtOnceAreNeverLost) {
  add(sample("a"));
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        (void)records_->change(
            "default", "a",
            [](SandboxRecord& record) -> Result<void> {
              record.expires += 1s;
              return {};
            },
            kAny);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(records_->find("default", "a").value().expires, sample("a").expires + 200s);
}

TEST_F(SandboxRecordsTest, TheAliveAreThoseOfAllTenantsOldestFirst) {
  add(sample("second", 2s));
  SandboxRecord theirs = sample("first", 1s);
  theirs.tenant = "other";
  theirs.state = State::kCreating;
  add(theirs);
  add(sample("ended", 3s));
  ASSERT_TRUE(end("ended", sample("x").created + 4s));
  const auto alive = records_->alive().value();
  ASSERT_EQ(alive.size(), 2U);
  EXPECT_EQ(alive[0], theirs);
  EXPECT_EQ(alive[1].id, "second");
}

TEST_F(SandboxRecordsTest, OnlyThoseThatEndedLongAgoAreForgotten) {
  const SystemTime now = sample("x").created;
  for (int i = 0; i < 5; ++i) {
    add(sample(std::to_string(i)));
    ASSERT_TRUE(end(std::to_string(i), now + i * 1s));
  }
  add(sample("alive"));
  EXPECT_EQ(records_->forget_ended(now + 3s, 2).value(), 2U);
  EXPECT_EQ(records_->forget_ended(now + 3s, 2).value(), 1U);
  EXPECT_EQ(records_->forget_ended(now + 3s, 2).value(), 0U);
  for (const char* const id : {"3", "4", "alive"}) {
    EXPECT_TRUE(records_->find("default", id)) << id;
  }
  EXPECT_FALSE(records_->find("default", "2"));
}

TEST_F(SandboxRecordsTest, ASandboxThatEndsLeavesNothingThatItWasGiven) {
  SandboxRecord record = sample("a");
  record.env = {{"API_KEY", "variable of a tenant"}};
  record.extra = R"({"envdAccessToken":"token of a tenant"})";
  record.network.allow = {*NetworkRule::parse("rule-of-a-tenant.example")};
  record.storage = R"({"base":"base of a tenant"})";
  record.metadata = {{"name", "kept"}};
  add(record);
  const SystemTime end = record.created + 60s;
  ASSERT_TRUE(records_->end("other", "a", end, "expired", kAny));
  EXPECT_EQ(records_->find("default", "a").value(), record);
  ASSERT_TRUE(records_->end("default", "a", end, "expired", kAny));
  const SandboxRecord ended = records_->find("default", "a").value();
  EXPECT_EQ(ended.state, State::kEnded);
  EXPECT_EQ(ended.ended_at, end);
  EXPECT_EQ(ended.end_reason, "expired");
  EXPECT_TRUE(ended.env.empty());
  EXPECT_EQ(ended.extra + ended.storage, "{}{}");
  EXPECT_EQ(ended.network, NetworkRules());
  EXPECT_EQ(ended.metadata, record.metadata);
  ASSERT_TRUE(records_->end("default", "a", end + 1s, "deleted", kAny));
  EXPECT_EQ(records_->find("default", "a").value().ended_at, end);
  EXPECT_EQ(records_->find("default", "a").value().end_reason, "expired");
}

TEST_F(SandboxRecordsTest, WhatAnOlderVersionKeptOfThoseThatEndedIsForgotten) {
  const std::string path = directory_ + "/old.db";
  {
    const auto old = Database::open(path, migrations().first(4)).value();
    SandboxRecord living = sample("living");
    living.extra = R"({"token":"1"})";
    living.env = {{"A", "1"}};
    SandboxRecord ended = living;
    ended.id = "ended";
    ended.state = State::kEnded;
    ended.ended_at = ended.created;
    ASSERT_TRUE(SandboxRecords(*old).insert(living, kAny));
    ASSERT_TRUE(SandboxRecords(*old).insert(ended, kAny));
  }
  const auto database = Database::open(path).value();
  SandboxRecords records(*database);
  EXPECT_EQ(records.find("default", "living").value().env.size(), 1U);
  EXPECT_EQ(records.find("default", "living").value().extra, R"({"token":"1"})");
  EXPECT_TRUE(records.find("default", "ended").value().env.empty());
  EXPECT_EQ(records.find("default", "ended").value().extra, "{}");
}

TEST_F(SandboxRecordsTest, NetworkRulesOfAnOlderVersionAreReadAndWhatADoorKeptInThemMoves) {
  const std::string path = directory_ + "/old.db";
  {
    const auto old = Database::open(path, migrations().first(6)).value();
    ASSERT_TRUE(SandboxRecords(*old).insert(sample("a"), kAny));
    const auto set = [](Connection& connection) -> Result<void> {
      (void)GB_TRY(connection.run(
          "UPDATE sandboxes SET network = ?1, extra = ?2",
          std::string(R"({"allow":["*"],"deny":["10.0.0.0/8"],"e2b":{"denyOut":["10.0.0.0/8"],)"
                      R"("egressProxy":{"address":"p:1","password":"secret"}}})"),
          std::string(R"({"e2b":{"access_token":"t"}})")));
      return {};
    };
    ASSERT_TRUE(old->write(set, kAny));
  }
  const auto database = Database::open(path).value();
  const SandboxRecord read = SandboxRecords(*database).find("default", "a").value();
  EXPECT_EQ(read.network, (NetworkRules{.allow = {},
                                        .deny = {*NetworkRule::parse("10.0.0.0/8")},
                                        .otherwise = NetworkRules::Otherwise::kAllow}));
  EXPECT_EQ(read.extra, R"({"e2b":{"access_token":"t","network":{"denyOut":["10.0.0.0/8"],)"
                        R"("egressProxy":{"address":"p:1"}}}})");
}

}  // namespace
}  // namespace glovebox
