// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"

namespace glovebox {
namespace {

constexpr std::array kSteps = {
    Migration{1, "CREATE TABLE kept (number INTEGER PRIMARY KEY) STRICT"},
    Migration{2, "ALTER TABLE kept ADD COLUMN text TEXT NOT NULL DEFAULT 'old'"},
};

class DatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "glovebox-store.XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/test.db";
    open();
  }
  void TearDown() override {
    database_.reset();
    ASSERT_TRUE(sys::remove_tree(directory_));
  }
  void open() { database_ = Database::open(path_, kSteps).value(); }
  Result<void> put(std::int64_t number, Durability durability = Durability::kPower) {
    return database_->write(
        [&](Connection& connection) -> Result<void> {
          (void)GB_TRY(connection.run("INSERT INTO kept (number) VALUES (?1)", number));
          return {};
        },
        durability);
  }
  std::int64_t number(Sql sql) {
    return database_
        ->read([&](Connection& connection) -> Result<std::int64_t> {
          Statement row = GB_TRY(connection.query(sql));
          (void)GB_TRY(row.next());
          return row.integer();
        })
        .value();
  }
  std::int64_t rows() { return number("SELECT count(*) FROM kept"); }

  std::string directory_;
  std::string path_;
  std::unique_ptr<Database> database_;
};

TEST_F(DatabaseTest, WhatWasWrittenIsReadAtOnceAndAfterReopening) {
  ASSERT_TRUE(put(7));
  EXPECT_EQ(rows(), 1);
  database_.reset();
  open();
  EXPECT_EQ(number("SELECT number FROM kept"), 7);
}

TEST_F(DatabaseTest, AnOlderDatabaseIsMigratedWithItsRows) {
  const std::string old = directory_ + "/old.db";
  {
    const auto first = Database::open(old, std::span(kSteps).first(1)).value();
    ASSERT_TRUE(first->write(
        [](Connection& connection) { return connection.run("INSERT INTO kept VALUES (5)"); }));
  }
  database_ = Database::open(old, kSteps).value();
  EXPECT_EQ(number("SELECT number FROM kept WHERE text = 'old'"), 5);
}

TEST_F(DatabaseTest, ADatabaseOfALaterVersionIsRefusedWithTheMend) {
  database_.reset();
  const auto opened = Database::open(path_, std::span(kSteps).first(1));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(opened.error().message(), ::testing::HasSubstr("has version 2"));
  EXPECT_THAT(opened.error().hint(), ::testing::HasSubstr("later"));
}

TEST_F(DatabaseTest, ADatabaseOfAnotherProgramIsRefusedAndNotTouched) {
  const std::string other = directory_ + "/other.db";
  Connection theirs = Connection::open(other).value();
  ASSERT_TRUE(theirs.script("CREATE TABLE bookmarks (url TEXT)"));
  const auto opened = Database::open(other, kSteps);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kInvalid);
  Statement row = theirs.query("SELECT count(*) FROM sqlite_schema").value();
  ASSERT_TRUE(row.next().value());
  EXPECT_EQ(row.integer(), 1);
}

TEST_F(DatabaseTest, AMigrationThatFailsLeavesTheVersionBeforeIt) {
  constexpr std::array kBroken = {
      kSteps[0], kSteps[1],
      Migration{3, "CREATE TABLE half (number INTEGER); INSERT INTO nowhere VALUES (1)"}};
  database_.reset();
  EXPECT_FALSE(Database::open(path_, kBroken));
  open();
  EXPECT_EQ(number("SELECT count(*) FROM sqlite_schema WHERE name = 'half'"), 0);
  EXPECT_EQ(number("SELECT max(number) FROM schema_steps"), 2);
}

TEST_F(DatabaseTest, TwoThatOpenANewDatabaseAtOnceBothSucceed) {
  const std::string fresh = directory_ + "/fresh.db";
  std::latch start(4);
  std::atomic<int> opened = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      opened += Database::open(fresh, kSteps).has_value() ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(opened, 4);
}

TEST_F(DatabaseTest, EveryTableOfOursIsStrict) {
  database_ = Database::open(directory_ + "/ours.db").value();
  EXPECT_GT(number("SELECT count(*) FROM pragma_table_list WHERE schema = 'main'"), 6);
  EXPECT_EQ(number("SELECT count(*) FROM pragma_table_list"
                   " WHERE schema = 'main' AND name NOT LIKE 'sqlite_%' AND strict = 0"),
            0);
}

TEST_F(DatabaseTest, AWriteThatFailsLeavesNoTraceAndHurtsNobodyInItsGroup) {
  // The first write runs until the others wait, so that those become one group.
  std::latch first_runs(1);
  std::latch others_wait(1);
  const auto insert = [](std::int64_t number, bool fail) {
    return [=](Connection& connection) -> Result<void> {
      (void)GB_TRY(connection.run("INSERT INTO kept (number) VALUES (?1)", number));
      return fail ? Error(ErrorCode::kRefused, "on second thoughts") : Result<void>();
    };
  };
  PendingWrite first = database_->begin_write([&](Connection&) -> Result<void> {
    first_runs.count_down();
    others_wait.wait();
    return {};
  });
  first_runs.wait();
  PendingWrite good = database_->begin_write(insert(1, false));
  PendingWrite bad = database_->begin_write(insert(2, true));
  PendingWrite same = database_->begin_write(insert(1, false));
  PendingWrite last = database_->begin_write(insert(3, false));
  others_wait.count_down();
  EXPECT_TRUE(first.wait());
  EXPECT_TRUE(good.wait());
  EXPECT_EQ(bad.wait().error().code(), ErrorCode::kRefused);
  EXPECT_EQ(same.wait().error().code(), ErrorCode::kConflict);
  EXPECT_TRUE(last.wait());
  EXPECT_EQ(number("SELECT sum(number) FROM kept"), 4);
}

TEST_F(DatabaseTest, WhatNobodyWaitsForIsWrittenInItsTurnAndBeforeTheDatabaseCloses) {
  database_.reset();
  database_ = Database::open(path_, kSteps, Keeping::kUntilEnd).value();
  const auto insert = [](std::int64_t number) {
    return [=](Connection& connection) -> Result<void> {
      (void)GB_TRY(connection.run("INSERT INTO kept (number) VALUES (?1)", number));
      return {};
    };
  };
  database_->leave_write(insert(1), Durability::kProcess);
  database_->leave_write(insert(1), Durability::kProcess);  // Fails, and hurts nobody.
  EXPECT_EQ(database_->begin_write(insert(1)).wait().error().code(), ErrorCode::kConflict);
  EXPECT_EQ(rows(), 1);
  database_->leave_write(insert(2), Durability::kProcess);
  database_.reset();
  database_ = Database::open(path_, kSteps).value();
  EXPECT_EQ(rows(), 2);
}

TEST_F(DatabaseTest, AFullDiskFailsTheWholeGroupAndLaterWritesWork) {
  std::latch first_runs(1);
  std::latch others_wait(1);
  PendingWrite first = database_->begin_write([&](Connection& connection) {
    first_runs.count_down();
    others_wait.wait();
    return connection.script("PRAGMA max_page_count = 6");
  });
  first_runs.wait();
  PendingWrite small = database_->begin_write([](Connection& connection) {
    return connection.script("INSERT INTO kept (number) VALUES (1)");
  });
  PendingWrite large = database_->begin_write([](Connection& connection) {
    return connection.script("INSERT INTO kept (number, text) VALUES (2, hex(zeroblob(90000)))");
  });
  others_wait.count_down();
  ASSERT_TRUE(first.wait());
  // SQLite may undo the large one alone or the transaction; nothing is acknowledged and lost.
  const std::int64_t acknowledged = small.wait() ? 1 : 0;
  EXPECT_EQ(large.wait().error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(rows(), acknowledged);
  EXPECT_TRUE(put(3));
}

TEST_F(DatabaseTest, WritesOfManyThreadsAllHappenOnceAndInAnOrder) {
  constexpr int kThreads = 8;
  constexpr int kEach = 40;
  std::atomic<int> acknowledged = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        const auto durability = i % 2 == 0 ? Durability::kPower : Durability::kProcess;
        acknowledged += put(thread * kEach + i, durability) ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(acknowledged, kThreads * kEach);
  EXPECT_EQ(rows(), kThreads * kEach);
}

TEST_F(DatabaseTest, ReadersDoNotWaitForAWriterAndSeeNothingHalfDone) {
  ASSERT_TRUE(put(1));
  std::latch inserted(1);
  std::latch read(1);
  PendingWrite writing = database_->begin_write([&](Connection& connection) -> Result<void> {
    GB_TRY(connection.script("INSERT INTO kept (number) VALUES (2)"));
    inserted.count_down();
    read.wait();
    return {};
  });
  inserted.wait();
  EXPECT_EQ(rows(), 1);
  read.count_down();
  ASSERT_TRUE(writing.wait());
  EXPECT_EQ(rows(), 2);
}

TEST_F(DatabaseTest, AReaderCannotWrite) {
  const auto tried = database_->read([](Connection& connection) {
    return connection.run("INSERT INTO kept (number) VALUES (1)");
  });
  EXPECT_FALSE(tried);
  EXPECT_EQ(rows(), 0);
}

TEST_F(DatabaseTest, MoreReadersThanConnectionsTakeTurns) {
  ASSERT_TRUE(put(1));
  std::atomic<int> seen = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 32; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        seen += static_cast<int>(rows());
      }
    });
  }
  threads.clear();
  EXPECT_EQ(seen, 32 * 20);
}

TEST_F(DatabaseTest, TheEndOfADatabaseFinishesWhatWasBegun) {
  for (std::int64_t i = 0; i < 50; ++i) {
    (void)database_->begin_write([i](Connection& connection) -> Result<void> {
      (void)GB_TRY(connection.run("INSERT INTO kept (number) VALUES (?1)", i));
      return {};
    });
  }
  database_.reset();
  open();
  EXPECT_EQ(rows(), 50);
}

}  // namespace
}  // namespace glovebox
