// SPDX-License-Identifier: Apache-2.0
// Programs that are killed, or whose files are copied, while they write.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"
#include "base/unique_fd.h"
#include "store/database.h"

namespace glovebox {
namespace {

namespace fs = std::filesystem;

constexpr std::array kSteps = {
    Migration{1, "CREATE TABLE kept (number INTEGER PRIMARY KEY, bytes BLOB) STRICT"}};

// Writes rows from the next free number on and tells each number once it is acknowledged.
[[noreturn]] void write_forever(const std::string& path, int tell) {
  auto database = Database::open(path, kSteps);
  const auto next = [](Connection& connection) -> Result<std::int64_t> {
    Statement row = GB_TRY(connection.query("SELECT coalesce(max(number), 0) + 1 FROM kept"));
    (void)GB_TRY(row.next());
    return row.integer();
  };
  for (std::int64_t number = (*database)->read(next).value();; ++number) {
    const Result<std::uint64_t> written = (*database)->write(
        [&](Connection& connection) {
          return connection.run("INSERT INTO kept VALUES (?1, randomblob(9000))", number);
        },
        number % 2 == 0 ? Durability::kPower : Durability::kProcess);
    if (!written || ::write(tell, &number, sizeof number) != sizeof number) {
      ::_exit(1);
    }
  }
}

class ProcessLossTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "glovebox-loss.XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/test.db";
  }
  void TearDown() override { ASSERT_TRUE(sys::remove_tree(directory_)); }

  // Starts a writer and waits until it has had so many rows acknowledged.
  void start_writer(int rows) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    told_ = UniqueFd(ends[0]);
    UniqueFd tell(ends[1]);
    writer_ = ::fork();
    ASSERT_GE(writer_, 0);
    if (writer_ == 0) {
      write_forever(path_, tell.get());
    }
    for (int i = 0; i < rows; ++i) {
      ASSERT_EQ(::read(told_.get(), &acknowledged_, sizeof acknowledged_),
                static_cast<ssize_t>(sizeof acknowledged_));
    }
  }
  // What it told before it was stopped, which may be more.
  void hear_the_rest() {
    ASSERT_EQ(::fcntl(told_.get(), F_SETFL, O_NONBLOCK), 0);
    while (::read(told_.get(), &acknowledged_, sizeof acknowledged_) == sizeof acknowledged_) {
    }
  }
  void kill_writer() {
    ASSERT_EQ(::kill(writer_, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(writer_, &status, 0), writer_);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  void check(const std::string& path) {
    const auto database = Database::open(path, kSteps).value();
    const auto checked = database->read([&](Connection& connection) -> Result<void> {
      {
        Statement row = GB_TRY(connection.query("SELECT count(*), max(number) FROM kept"));
        (void)GB_TRY(row.next());
        const std::int64_t rows = row.integer();
        EXPECT_EQ(rows, row.integer());
        EXPECT_GE(rows, acknowledged_);
      }
      Statement row = GB_TRY(connection.query("PRAGMA integrity_check"));
      (void)GB_TRY(row.next());
      EXPECT_EQ(row.text(), "ok");
      return {};
    });
    EXPECT_TRUE(checked);
  }

  std::string directory_;
  std::string path_;
  std::mt19937 random_{8};
  std::uniform_int_distribution<int> some_{1, 40};
  pid_t writer_ = -1;
  UniqueFd told_;
  std::int64_t acknowledged_ = 0;
};

TEST_F(ProcessLossTest, NothingAcknowledgedIsLostWhenTheWriterIsKilled) {
  for (int round = 0; round < 12 && !HasFatalFailure(); ++round) {
    start_writer(some_(random_));
    kill_writer();
    hear_the_rest();
    check(path_);
  }
}

TEST_F(ProcessLossTest, ACopyOfTheFilesHoldsWhatWasAcknowledgedBefore) {
  for (int round = 0; round < 12 && !HasFatalFailure(); ++round) {
    start_writer(some_(random_));
    // Stopped wherever it was: three files copied under a running writer would be of three moments.
    ASSERT_EQ(::kill(writer_, SIGSTOP), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(writer_, &status, WUNTRACED), writer_);
    ASSERT_TRUE(WIFSTOPPED(status));
    hear_the_rest();
    const std::string copy = directory_ + "/copy";
    fs::remove_all(copy);
    fs::create_directory(copy);
    for (const char* ending : {"", "-wal", "-shm"}) {
      if (fs::exists(path_ + ending)) {
        fs::copy_file(path_ + ending, copy + "/test.db" + ending);
      }
    }
    kill_writer();
    check(copy + "/test.db");
  }
}

}  // namespace
}  // namespace glovebox
