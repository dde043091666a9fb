// SPDX-License-Identifier: Apache-2.0
#include "store/idempotency_records.h"

#include <atomic>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"
#include "store/tenant_records.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;
using Kind = IdempotencyOutcome::Kind;

constexpr auto kAny = Durability::kProcess;
constexpr SystemTime kNow{1'800'000'000s};

class IdempotencyRecordsTest : public ::testing::Test {
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

  Result<IdempotencyOutcome> claim(const std::string& subject,
                                   SystemTime now = kNow,
                                   const std::string& what = "create:1",
                                   const std::string& tenant = "default") {
    return records_->claim({tenant, "key", what, subject, now + 1h}, now, kAny);
  }

  std::string directory_;
  std::unique_ptr<Database> database_;
  std::optional<IdempotencyRecords> records_;
};

TEST_F(IdempotencyRecordsTest, TheFirstCallerWinsAndOthersLearnThatItIsUnderWay) {
  EXPECT_EQ(claim("a").value().kind, Kind::kFirst);
  const IdempotencyOutcome second = claim("b").value();
  EXPECT_EQ(second.kind, Kind::kUnderWay);
  EXPECT_EQ(second.subject, "a");
}

TEST_F(IdempotencyRecordsTest, OnceItIsAnsweredEverybodyGetsTheAnswer) {
  ASSERT_TRUE(claim("a"));
  ASSERT_TRUE(records_->finish("default", "key", "a", R"({"id":"a"})", kAny));
  const IdempotencyOutcome second = claim("b").value();
  EXPECT_EQ(second.kind, Kind::kAnswered);
  EXPECT_EQ(second.answer, R"({"id":"a"})");
}

TEST_F(IdempotencyRecordsTest, AnEmptyAnswerIsAnAnswer) {
  ASSERT_TRUE(claim("a"));
  ASSERT_TRUE(records_->finish("default", "key", "a", "", kAny));
  EXPECT_EQ(claim("b").value().kind, Kind::kAnswered);
}

TEST_F(IdempotencyRecordsTest, OfManyAtOnceExactlyOneIsFirst) {
  std::atomic<int> first = 0;
  std::atomic<int> under_way = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      const Kind kind = claim(std::to_string(i)).value().kind;
      first += kind == Kind::kFirst ? 1 : 0;
      under_way += kind == Kind::kUnderWay ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(under_way, 15);
}

TEST_F(IdempotencyRecordsTest, TheSameKeyForAnotherRequestIsAConflict) {
  ASSERT_TRUE(claim("a"));
  EXPECT_EQ(claim("b", kNow, "create:2").error().code(), ErrorCode::kConflict);
}

TEST_F(IdempotencyRecordsTest, TwoTenantsMayUseTheSameKey) {
  ASSERT_TRUE(claim("a"));
  EXPECT_EQ(claim("b", kNow, "create:2", "other").value().kind, Kind::kFirst);
}

TEST_F(IdempotencyRecordsTest, AnAbandonedKeyIsFreeAgainAndAnAnsweredOneIsNot) {
  ASSERT_TRUE(claim("a"));
  ASSERT_TRUE(records_->abandon("default", "key", "a"));
  EXPECT_EQ(claim("b").value().kind, Kind::kFirst);
  ASSERT_TRUE(records_->finish("default", "key", "b", "done", kAny));
  ASSERT_TRUE(records_->abandon("default", "key", "b"));
  EXPECT_EQ(claim("c").value().kind, Kind::kAnswered);
}

TEST_F(IdempotencyRecordsTest, AnExpiredKeyIsFreeAndItsFormerHolderCannotAnswerIt) {
  ASSERT_TRUE(claim("a"));
  EXPECT_EQ(claim("b", kNow + 59min).value().kind, Kind::kUnderWay);
  EXPECT_EQ(claim("b", kNow + 1h).value().kind, Kind::kFirst);
  EXPECT_EQ(records_->finish("default", "key", "a", "late", kAny).error().code(),
            ErrorCode::kNotFound);
  ASSERT_TRUE(records_->abandon("default", "key", "a"));
  EXPECT_EQ(claim("c", kNow + 1h).value().subject, "b");
}

TEST_F(IdempotencyRecordsTest, ADaemonThatStartsFindsWhatWasUnderWay) {
  ASSERT_TRUE(claim("a"));
  ASSERT_TRUE(claim("b", kNow, "run:1", "other"));
  ASSERT_TRUE(records_->finish("other", "key", "b", "done", kAny));
  const auto unfinished = records_->unfinished().value();
  ASSERT_EQ(unfinished.size(), 1U);
  EXPECT_EQ(unfinished[0].subject, "a");
  EXPECT_EQ(unfinished[0].expires, kNow + 1h);
}

TEST_F(IdempotencyRecordsTest, OnlyTheExpiredAreForgotten) {
  ASSERT_TRUE(claim("a"));
  ASSERT_TRUE(claim("b", kNow + 30min, "run:1", "other"));
  EXPECT_EQ(records_->forget_expired(kNow + 59min).value(), 0U);
  EXPECT_EQ(records_->forget_expired(kNow + 1h).value(), 1U);
  EXPECT_EQ(claim("c", kNow + 1h, "run:1", "other").value().kind, Kind::kUnderWay);
}

TEST_F(IdempotencyRecordsTest, KeysAndAnswersAreBounded) {
  const auto with_key = [&](const std::string& key) {
    return records_->claim({"default", key, "w", "s", kNow + 1h}, kNow, kAny);
  };
  EXPECT_EQ(with_key("").error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(with_key(std::string(256, 'k')).error().code(), ErrorCode::kInvalid);
  EXPECT_TRUE(with_key(std::string(255, 'k')));
  ASSERT_TRUE(claim("a"));
  EXPECT_EQ(
      records_->finish("default", "key", "a", std::string((1 << 20) + 1, 'x'), kAny).error().code(),
      ErrorCode::kInvalid);
}

TEST_F(IdempotencyRecordsTest, AnAnswerThatIsElsewhereSaysWhere) {
  ASSERT_TRUE(claim("a"));
  ASSERT_TRUE(records_->finish("default", "key", "a", "", kAny, AnswerPlace::kFile));
  const IdempotencyOutcome second = claim("b").value();
  EXPECT_EQ(second.kind, Kind::kAnswered);
  EXPECT_EQ(second.subject, "a");
  EXPECT_EQ(second.place, AnswerPlace::kFile);
  EXPECT_EQ(records_->answered_by_files().value().size(), 1U);
  // Whoever takes the key after its end has an answer of its own.
  EXPECT_EQ(claim("c", kNow + 2h).value().kind, Kind::kFirst);
  EXPECT_TRUE(records_->answered_by_files().value().empty());
  ASSERT_TRUE(records_->finish("default", "key", "c", "", kAny, AnswerPlace::kNowhere));
  EXPECT_EQ(claim("d", kNow + 2h).value().place, AnswerPlace::kNowhere);
  EXPECT_TRUE(records_->unfinished().value().empty());
}

}  // namespace
}  // namespace glovebox
