// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"
#include "store/database.h"
#include "store/power_loss_disk.h"

namespace glovebox {
namespace {

namespace fs = std::filesystem;

constexpr std::array kSteps = {
    Migration{1, "CREATE TABLE kept (number INTEGER PRIMARY KEY, bytes BLOB) STRICT"}};

constexpr int kRows = 300;
constexpr int kFailures = 60;

class PowerLossTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "glovebox-power.XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/test.db";
  }
  void TearDown() override { ASSERT_TRUE(sys::remove_tree(directory_)); }

  // Writes rows 1, 2, … and notes the moment at which each was acknowledged. The rows are large,
  // so that the log goes back into the database several times meanwhile.
  template <typename DurabilityOf>
  void write_rows(DurabilityOf durability_of) {
    const auto database = Database::open(path_, kSteps).value();
    disk_.start(path_);
    for (std::int64_t row = 1; row <= kRows; ++row) {
      ASSERT_TRUE(database->write(
          [&](Connection& connection) {
            return connection.run("INSERT INTO kept VALUES (?1, randomblob(30000))", row);
          },
          durability_of(row)));
      acknowledged_.push_back(disk_.now());
    }
    disk_.stop();
  }

  struct Left {
    std::int64_t rows = 0;
    std::int64_t last = 0;
    std::string integrity;
  };
  // What a database holds that is opened after a failure at that moment.
  Left fail_at(std::size_t moment) {
    const std::string restored = directory_ + "/restored";
    fs::remove_all(restored);
    fs::create_directory(restored);
    disk_.restore(moment, random_, restored);
    const auto database = Database::open(restored + "/test.db", kSteps).value();
    return database
        ->read([](Connection& connection) -> Result<Left> {
          Left left;
          {
            Statement row =
                GB_TRY(connection.query("SELECT count(*), coalesce(max(number), 0) FROM kept"));
            (void)GB_TRY(row.next());
            left.rows = row.integer();
            left.last = row.integer();
          }
          Statement row = GB_TRY(connection.query("PRAGMA integrity_check"));
          (void)GB_TRY(row.next());
          left.integrity = row.text();
          return left;
        })
        .value();
  }
  std::size_t any_moment() {
    return std::uniform_int_distribution<std::size_t>(0, disk_.now())(random_);
  }
  // The last row that was acknowledged by then.
  [[nodiscard]] std::int64_t acknowledged_by(std::size_t moment) const {
    return std::upper_bound(acknowledged_.begin(), acknowledged_.end(), moment) -
           acknowledged_.begin();
  }

  testing::PowerLossDisk disk_;
  std::mt19937 random_{4};
  std::string directory_;
  std::string path_;
  std::vector<std::size_t> acknowledged_;
};

TEST_F(PowerLossTest, WhatWasAcknowledgedSurvivesAFailureAtAnyMoment) {
  write_rows([](std::int64_t) { return Durability::kPower; });
  for (int i = 0; i < kFailures; ++i) {
    const std::size_t moment = any_moment();
    const Left left = fail_at(moment);
    EXPECT_EQ(left.integrity, "ok") << moment;
    EXPECT_GE(left.last, acknowledged_by(moment)) << moment;
    EXPECT_EQ(left.rows, left.last) << moment;
  }
}

TEST_F(PowerLossTest, WhatNeedNotSurviveItIsLostFromTheEndAndTearsNothing) {
  const auto flushed = [](std::int64_t row) { return row % 10 == 0; };
  write_rows(
      [&](std::int64_t row) { return flushed(row) ? Durability::kPower : Durability::kProcess; });
  int lost = 0;
  for (int i = 0; i < kFailures; ++i) {
    const std::size_t moment = any_moment();
    const Left left = fail_at(moment);
    EXPECT_EQ(left.integrity, "ok") << moment;
    EXPECT_EQ(left.rows, left.last) << moment;
    const std::int64_t acknowledged = acknowledged_by(moment);
    // A flush covers all that was written before it.
    EXPECT_GE(left.last, acknowledged / 10 * 10) << moment;
    lost += left.last < acknowledged ? 1 : 0;
  }
  // Else the disk of this test forgets nothing, and the test above has shown nothing.
  EXPECT_GT(lost, 0);
}

}  // namespace
}  // namespace glovebox
