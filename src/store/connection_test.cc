// SPDX-License-Identifier: Apache-2.0
#include "store/connection.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"
#include "store/transaction.h"

namespace glovebox {
namespace {

class ConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "glovebox-store.XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    connection_.emplace(Connection::open(path()).value());
    ASSERT_TRUE(connection_->script(
        "CREATE TABLE kept (number INTEGER PRIMARY KEY, text TEXT CHECK (length(text) < 10),"
        " real REAL, bytes BLOB, time INTEGER, parent INTEGER REFERENCES kept (number)) STRICT;"));
  }
  void TearDown() override {
    connection_.reset();
    ASSERT_TRUE(sys::remove_tree(directory_));
  }
  [[nodiscard]] std::string path() const { return directory_ + "/test.db"; }

  std::int64_t number(Sql sql) {
    Statement row = connection_->query(sql).value();
    EXPECT_TRUE(row.next().value());
    return row.integer();
  }
  ErrorCode code(const Result<std::uint64_t>& result) { return result.error().code(); }

  std::string directory_;
  std::optional<Connection> connection_;
};

TEST_F(ConnectionTest, TextMadeAtRunTimeIsNoSql) {
  static_assert(!std::is_convertible_v<std::string, Sql>);
  static_assert(!std::is_convertible_v<std::string_view, Sql>);
  static_assert(!std::is_convertible_v<const char*, Sql>);
  constexpr static auto kJoined = SqlPart("SELECT ") + SqlPart("1");
  EXPECT_EQ(Sql(kJoined).text(), "SELECT 1");
}

TEST_F(ConnectionTest, ValuesComeBackAsTheyWereBound) {
  const std::string bytes("\0\xff\x01", 3);
  const SystemTime time{std::chrono::nanoseconds(1'700'000'000'123'456'789)};
  ASSERT_TRUE(connection_->run("INSERT INTO kept VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                               std::numeric_limits<std::int64_t>::min(), "it's ü", 0.1, Blob{bytes},
                               time, std::optional<std::int64_t>()));
  Statement row = connection_->query("SELECT * FROM kept").value();
  ASSERT_TRUE(row.next().value());
  EXPECT_EQ(row.integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(row.text(), "it's ü");
  EXPECT_EQ(row.real(), 0.1);
  EXPECT_EQ(row.text(), bytes);
  EXPECT_EQ(row.time(), time);
  EXPECT_EQ(row.optional_text(), std::nullopt);
  EXPECT_FALSE(row.next().value());
}

TEST_F(ConnectionTest, AnEmptyTextIsNotNull) {
  ASSERT_TRUE(
      connection_->run("INSERT INTO kept (number, text) VALUES (1, ?1)", std::string_view()));
  EXPECT_EQ(number("SELECT count(*) FROM kept WHERE text = ''"), 1);
}

TEST_F(ConnectionTest, TextThatIsNotUtf8OrHoldsANullByteIsInvalid) {
  constexpr Sql kInsert = "INSERT INTO kept (text) VALUES (?1)";
  EXPECT_EQ(code(connection_->run(kInsert, "\xff")), ErrorCode::kInvalid);
  EXPECT_EQ(code(connection_->run(kInsert, std::string("a\0b", 3))), ErrorCode::kInvalid);
  EXPECT_EQ(code(connection_->run(kInsert, std::numeric_limits<std::uint64_t>::max())),
            ErrorCode::kInvalid);
  EXPECT_EQ(number("SELECT count(*) FROM kept"), 0);
}

TEST_F(ConnectionTest, BrokenRulesOfTheSchemaHaveTheirOwnErrors) {
  ASSERT_TRUE(connection_->run("INSERT INTO kept (number) VALUES (1)"));
  EXPECT_EQ(code(connection_->run("INSERT INTO kept (number) VALUES (1)")), ErrorCode::kConflict);
  EXPECT_EQ(code(connection_->run("INSERT INTO kept (text) VALUES ('0123456789')")),
            ErrorCode::kInvalid);
  EXPECT_EQ(code(connection_->run("INSERT INTO kept (real) VALUES ('a text')")),
            ErrorCode::kInvalid);
  EXPECT_EQ(code(connection_->run("INSERT INTO kept (parent) VALUES (7)")), ErrorCode::kNotFound);
}

TEST_F(ConnectionTest, AStatementInUseCanBeUsedASecondTime) {
  ASSERT_TRUE(connection_->script("INSERT INTO kept (number) VALUES (1), (2)"));
  constexpr Sql kAll = "SELECT number FROM kept ORDER BY number";
  Statement outer = connection_->query(kAll).value();
  int pairs = 0;
  while (outer.next().value()) {
    Statement inner = connection_->query(kAll).value();
    while (inner.next().value()) {
      ++pairs;
    }
  }
  EXPECT_EQ(pairs, 4);
}

TEST_F(ConnectionTest, EveryConnectionFlushesAndChecksForeignKeys) {
  EXPECT_EQ(number("PRAGMA synchronous"), 2);  // FULL
  EXPECT_EQ(number("PRAGMA foreign_keys"), 1);
  EXPECT_EQ(number("PRAGMA trusted_schema"), 0);
  EXPECT_GT(number("PRAGMA busy_timeout"), 0);
  Statement row = connection_->query("PRAGMA journal_mode").value();
  ASSERT_TRUE(row.next().value());
  EXPECT_EQ(row.text(), "wal");
}

TEST_F(ConnectionTest, TheFilesAreReadableByTheirOwnerOnly) {
  for (const char* ending : {"", "-wal", "-shm"}) {
    struct stat status {};
    ASSERT_EQ(::stat((path() + ending).c_str(), &status), 0) << ending;
    EXPECT_EQ(status.st_mode & 0777, 0600U) << ending;
  }
}

TEST_F(ConnectionTest, AFileThatIsNoDatabaseIsInvalid) {
  std::ofstream(directory_ + "/text") << std::string(4096, 'x');
  const Result<Connection> opened = Connection::open(directory_ + "/text");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kInvalid);
  EXPECT_FALSE(opened.error().hint().empty());
}

TEST_F(ConnectionTest, AMissingDirectoryIsAnErrorAndNoCrash) {
  EXPECT_FALSE(Connection::open(directory_ + "/none/test.db"));
}

TEST_F(ConnectionTest, ATransactionThatIsDroppedLeavesNothing) {
  {
    Transaction transaction = Transaction::begin(*connection_).value();
    ASSERT_TRUE(connection_->run("INSERT INTO kept (number) VALUES (1)"));
  }
  EXPECT_EQ(number("SELECT count(*) FROM kept"), 0);
  EXPECT_FALSE(connection_->in_transaction());
}

TEST_F(ConnectionTest, ASavepointThatIsDroppedUndoesItsPartAlone) {
  Transaction transaction = Transaction::begin(*connection_).value();
  ASSERT_TRUE(connection_->run("INSERT INTO kept (number) VALUES (1)"));
  {
    Savepoint part = Savepoint::begin(*connection_).value();
    ASSERT_TRUE(connection_->run("INSERT INTO kept (number) VALUES (2)"));
  }
  ASSERT_TRUE(transaction.commit());
  EXPECT_EQ(number("SELECT sum(number) FROM kept"), 1);
}

TEST_F(ConnectionTest, AFullDatabaseIsUnavailableAndGoesOnWithWhatItHas) {
  ASSERT_TRUE(connection_->run("INSERT INTO kept (number) VALUES (1)"));
  ASSERT_TRUE(connection_->script("PRAGMA max_page_count = 3"));
  EXPECT_EQ(code(connection_->run("INSERT INTO kept (number, bytes) VALUES (2, zeroblob(100000))")),
            ErrorCode::kUnavailable);
  EXPECT_EQ(number("SELECT count(*) FROM kept"), 1);
}

}  // namespace
}  // namespace glovebox
