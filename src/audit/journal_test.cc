// SPDX-License-Identifier: Apache-2.0
#include "audit/journal.h"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "audit/journal_directory.h"
#include "audit/record.h"

namespace glovebox::audit {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class JournalTest : public JournalDirectory {};

TEST_F(JournalTest, ThePrivateKeyAndTheRecordsAreTheirOwnersAlone) {
  write(1);
  for (const std::string& name : {std::string("key.pem"), std::string("head"), first_}) {
    struct stat status {};
    ASSERT_EQ(::stat((path_ + "/" + name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << name;
  }
  ASSERT_EQ(::chmod((path_ + "/key.pem").c_str(), 0644), 0);
  EXPECT_EQ(Journal::open(path_, {}).error().code(), ErrorCode::kRefused);
}

TEST_F(JournalTest, RecordsOfManyThreadsAreOneChain) {
  std::atomic<int> failed = 0;
  {
    const auto journal = open({.checkpoint_records = 50});
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 40; ++i) {
          failed += journal->record(entry(thread * 100 + i)) ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  EXPECT_EQ(failed, 0);
  const Report report = check();
  EXPECT_TRUE(report.problems.empty()) << text_of(report);
  EXPECT_GE(report.last, 321);
  EXPECT_GE(report.checkpoints, 2);
}

TEST_F(JournalTest, NobodyWhoWaitsForTheDiskIsForgotten) {
  std::atomic<int> failed = 0;
  std::atomic<int> working = 6;
  {
    const auto journal = open();
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 6; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          const auto room = journal->reserve();
          const auto number = journal->append(entry(i));
          failed += room && number && journal->wait(*number) ? 0 : 1;
        }
        --working;
      });
    }
    // What others flush meanwhile counts too.
    while (working > 0) {
      failed += journal->checkpoint() ? 0 : 1;
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(check().problems.empty());
}

TEST_F(JournalTest, TimeAloneAndTheNumberOfRecordsAloneSignWhatIsThere) {
  for (const Journal::Options& options : {Journal::Options{.checkpoint_time = 20ms},
                                          {.checkpoint_records = 4, .checkpoint_time = 1h}}) {
    const auto journal = open(options);
    std::uint64_t number = 0;
    for (int i = 0; i < 4; ++i) {
      number = journal->append(entry(i)).value();
    }
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (check().signed_through < number && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    EXPECT_GE(check().signed_through, number);
  }
}

TEST_F(JournalTest, WhatIsHurriedComesToTheDiskThoughNobodyWaitsForIt) {
  const auto journal = open({.durability = Durability::kRequests, .checkpoint_time = 1h});
  // The second time, the thread is awake or wakes up by itself.
  for (int i = 0; i < 2; ++i) {
    EXPECT_GT(journal->append(entry(1)).value(), journal->durable_through());
    const std::uint64_t number = journal->append(entry(2), Haste::kSoon).value();
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (journal->durable_through() < number && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    EXPECT_GE(journal->durable_through(), number);
    EXPECT_TRUE(journal->wait(number));
  }
}

TEST_F(JournalTest, WhoIsAloneFlushesMeanwhileAndOthersLeaveItToOneOfThem) {
  const auto journal = open({.durability = Durability::kRequests, .checkpoint_time = 1h});
  const auto alone = journal->reserve();
  const std::uint64_t first = journal->append(entry(1)).value();
  journal->flush_meanwhile(first);
  EXPECT_GE(journal->durable_through(), first);
  // An act that has taken long: flushes that are shared come half of that apart.
  {
    const auto act = journal->reserve();
    const auto end = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
  }
  const auto other = journal->reserve();
  std::uint64_t number = journal->append(entry(2)).value();
  journal->flush_meanwhile(number);
  number = journal->append(entry(3)).value();
  journal->flush_meanwhile(number);
  EXPECT_TRUE(journal->wait(number));
  EXPECT_GE(journal->durable_through(), number);
}

TEST_F(JournalTest, RelaxedFlushesForNobody) {
  const auto journal = open({.durability = Durability::kRelaxed, .checkpoint_time = 1h});
  const std::uint64_t number = journal->append(entry(1), Haste::kSoon).value();
  journal->flush_meanwhile(number);
  EXPECT_TRUE(journal->wait(number));
  EXPECT_LT(journal->durable_through(), number);
}

TEST_F(JournalTest, AJournalThatIsOpenEndsWithRoomAndOneThatWasClosedDoesNot) {
  {
    const auto journal = open();
    ASSERT_TRUE(journal->record(entry(1)));
    EXPECT_EQ(read(first_).back(), '\0');
    const Report report = check();
    EXPECT_TRUE(report.problems.empty()) << text_of(report);
    EXPECT_EQ(report.unfinished, 0);
    // What a death leaves is such a file.
    std::filesystem::copy(path_, parent_ + "/dead");
  }
  EXPECT_EQ(read(first_).back(), '\n');
  path_ = parent_ + "/dead";
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  write(1);
  EXPECT_THAT(read(first_), HasSubstr(R"("cut_bytes":0)"));
  EXPECT_TRUE(check().problems.empty()) << text_of(check());
}

TEST_F(JournalTest, ARecordOfWhichThePowerFailureTookTheBeginningIsCut) {
  write(3);
  put(first_,
      read(first_) + std::string(5000, '\0') + R"("hash":"00"})" + "\n" + std::string(5000, '\0'));
  EXPECT_EQ(check().unfinished, 5000 + 13);
  EXPECT_TRUE(check().problems.empty());
  write(1);
  EXPECT_TRUE(check().problems.empty()) << text_of(check());
  EXPECT_THAT(read(first_), HasSubstr(R"("cut_bytes":5013)"));
}

TEST_F(JournalTest, AClockThatIsSetBackIsRecordedAndTheOrderStays) {
  std::atomic<std::int64_t> now = 1'800'000'000'000;
  {
    const auto journal = open({.clock = [&] {
      return std::chrono::system_clock::time_point(std::chrono::milliseconds(now.load()));
    }});
    ASSERT_TRUE(journal->append(entry(1)));
    now -= 3'600'000;
    ASSERT_TRUE(journal->append(entry(2)));
    ASSERT_TRUE(journal->append(entry(3)));
  }
  const Report report = check();
  EXPECT_TRUE(report.problems.empty()) << text_of(report);
  EXPECT_EQ(report.clock_changes, 1);
  const auto all = lines(first_);
  EXPECT_THAT(all[3], HasSubstr(R"("action":"audit.clock")"));
  EXPECT_LT(parse_record(all[4])->time, parse_record(all[2])->time);
  EXPECT_THAT(all[4], HasSubstr("sb2"));
}

TEST_F(JournalTest, WhatADeathLeftInTheMiddleIsCutAndThatIsRecorded) {
  write(3);
  put(first_, read(first_) + R"({"seq":7,"prev":"00)");
  EXPECT_EQ(check().unfinished, 19);
  EXPECT_TRUE(check().problems.empty());
  write(1);
  const Report report = check();
  EXPECT_TRUE(report.problems.empty()) << text_of(report);
  EXPECT_THAT(read(first_), HasSubstr(R"("cut_bytes":19)"));
}

TEST_F(JournalTest, AJournalThatWasChangedIsNotWrittenOn) {
  write(3);
  const std::string good = read(first_);
  const auto refused = [&] {
    const auto opened = Journal::open(path_, {});
    return !opened && opened.error().code() == ErrorCode::kUnavailable;
  };
  put(first_, good.substr(0, good.size() / 2));
  EXPECT_TRUE(refused()) << "cut";
  std::string flipped = good;
  flipped[300] ^= 1;
  put(first_, flipped);
  EXPECT_TRUE(refused()) << "flipped";
  std::filesystem::remove(path_ + "/" + first_);
  EXPECT_TRUE(refused()) << "no segment";
  put(first_, good);
  const std::string key = read("key.pem");
  std::filesystem::remove(path_ + "/key.pem");
  EXPECT_TRUE(refused()) << "no key";
}

TEST_F(JournalTest, OnlyOneProgramWritesIt) {
  const auto journal = open();
  EXPECT_EQ(Journal::open(path_, {}).error().code(), ErrorCode::kConflict);
}

TEST_F(JournalTest, WhatRetentionRemovesLeavesAChainThatVerifies) {
  write(60, {.segment_size = 4096});
  const UniqueFd directory = open_directory(path_).value();
  const std::size_t before = list_segments(directory.get())->size();
  write(60, {.segment_size = 4096, .keep = 0s});
  EXPECT_LT(list_segments(directory.get())->size(), before);
  const Report report = check();
  EXPECT_TRUE(report.problems.empty()) << text_of(report);
  EXPECT_GT(report.first, 1);
  EXPECT_EQ(report.removed_through, report.first - 1);
}

// A disk of its own that is full soon.
class SmallDiskTest : public JournalDirectory {
 protected:
  void SetUp() override {
    JournalDirectory::SetUp();
    ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
    if (::mount("none", path_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0700") != 0) {
      GTEST_SKIP() << "only root can mount a disk that is full soon";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) {
      EXPECT_EQ(::umount2(path_.c_str(), MNT_DETACH), 0);
    }
    JournalDirectory::TearDown();
  }
  bool mounted_ = false;
};

TEST_F(SmallDiskTest, AFullDiskRefusesNewRecordsAndTakesThoseThatWereReserved) {
  {
    const auto journal = open({.durability = Durability::kRelaxed});
    std::vector<Room> rooms;
    for (int i = 0; i < 20; ++i) {
      auto room = journal->reserve();
      ASSERT_TRUE(room);
      rooms.push_back(*std::move(room));
    }
    // Somebody else takes the rest of the disk.
    std::ofstream filler(path_ + "/filler", std::ios::binary);
    while (filler.write(std::string(4096, 'x').data(), 4096) && filler.flush()) {
    }
    filler.close();
    int taken = 0;
    std::vector<Room> more;
    Result<Room> room = journal->reserve();
    for (; room && taken < 1000; ++taken, room = journal->reserve()) {
      more.push_back(*std::move(room));
    }
    ASSERT_FALSE(room);
    EXPECT_EQ(room.error().code(), ErrorCode::kUnavailable);
    EXPECT_THAT(room.error().hint(), HasSubstr("free space"));
    EXPECT_TRUE(journal->reserve(kUsualLine, true)) << "what frees something is still recorded";
    for (std::size_t i = 0; i < rooms.size(); ++i) {
      EXPECT_TRUE(journal->append(entry(static_cast<int>(i)))) << i;
    }
    more.clear();
    std::filesystem::remove(path_ + "/filler");
    EXPECT_TRUE(journal->reserve()) << "there is room again";
  }
  const Report report = check();
  EXPECT_TRUE(report.problems.empty()) << text_of(report);
  EXPECT_GE(report.last, 21);
}

}  // namespace
}  // namespace glovebox::audit
