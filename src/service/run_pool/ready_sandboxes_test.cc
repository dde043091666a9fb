// SPDX-License-Identifier: Apache-2.0
#include "service/run_pool/ready_sandboxes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace glovebox {
namespace {

// Makers that never succeed, and tell what they were asked for.
class Failing {
 public:
  ReadySandboxes::Make make() {
    return [this](const ReadyKind& kind) -> Result<ReadySandbox> {
      const std::scoped_lock lock(mutex_);
      tried_.push_back(kind.home);
      changed_.notify_all();
      return Error(ErrorCode::kUnavailable, "no");
    };
  }
  void await(const std::string& home, int times = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return std::ranges::count(tried_, home) >= times; });
  }
  [[nodiscard]] std::vector<std::string> tried() {
    const std::scoped_lock lock(mutex_);
    return tried_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> tried_;
};

ReadyKind kind(const std::string& home) { return {.home = home}; }

TEST(ReadySandboxesTest, MakesThoseThatWereAskedFor) {
  Failing failing;
  ReadySandboxes sandboxes({}, failing.make());
  EXPECT_EQ(sandboxes.claim(kind("/a")), nullptr);
  failing.await("/a");
  EXPECT_EQ(sandboxes.ready(), 0U);
}

TEST(ReadySandboxesTest, DoesNotTryAgainAtOnceWhatCannotBeMade) {
  Failing failing;
  ReadySandboxes sandboxes({}, failing.make());
  (void)sandboxes.claim(kind("/a"));
  failing.await("/a");
  (void)sandboxes.claim(kind("/a"));
  // One thread makes all: when the next one has been tried, the first was left alone.
  (void)sandboxes.claim(kind("/b"));
  failing.await("/b");
  EXPECT_EQ(failing.tried(), (std::vector<std::string>{"/a", "/b"}));
}

TEST(ReadySandboxesTest, ForgetsTheKindThatWasAskedForLongestAgo) {
  Failing failing;
  ReadySandboxes sandboxes({}, failing.make());
  (void)sandboxes.claim(kind("/first"));
  failing.await("/first");
  // One thread makes all: when the next one is tried, it is known that the first has failed.
  (void)sandboxes.claim(kind("/next"));
  failing.await("/next");
  for (int i = 0; i < 32; ++i) {
    (void)sandboxes.claim(kind(std::to_string(i)));
  }
  // It is as new, and tried at once.
  (void)sandboxes.claim(kind("/first"));
  failing.await("/first", 2);
}

// Real ones, of which two wait.
class RealReadySandboxesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto first = make_ready(kind_);
    ASSERT_TRUE(first) << first.error().message();
    sandboxes_.keep(kind_, std::move(first).value(), [this] {
      const std::scoped_lock lock(mutex_);
      ++times_full_;
      changed_.notify_all();
    });
    await_full(1);
  }
  void await_full(int times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return times_full_ >= times; });
  }

  const ReadyKind kind_{.tier = {.exactly = "native"}};
  std::mutex mutex_;
  std::condition_variable changed_;
  int times_full_ = 0;
  std::atomic<bool> scarce_ = false;
  ReadySandboxes sandboxes_{{}, make_ready, [this] { return scarce_.load(); }};
};

TEST_F(RealReadySandboxesTest, ReplacesWhatIsClaimed) {
  auto claimed = sandboxes_.claim(kind_);
  ASSERT_TRUE(claimed);
  EXPECT_TRUE((*claimed)->alive());
  await_full(2);
  EXPECT_EQ(sandboxes_.ready(), 2U);
  EXPECT_TRUE((*claimed)->alive());
  sandboxes_.discard(std::move(claimed));
}

TEST_F(RealReadySandboxesTest, EndsAllThatWaitsWhenItIsEmptied) {
  sandboxes_.empty();
  EXPECT_EQ(sandboxes_.ready(), 0U);
  EXPECT_FALSE(sandboxes_.claim(kind_));
}

TEST_F(RealReadySandboxesTest, LetsNothingWaitWhileMemoryIsScarce) {
  scarce_ = true;
  while (sandboxes_.ready() > 0) {
    std::this_thread::yield();
  }
  scarce_ = false;
  await_full(2);
}

}  // namespace
}  // namespace glovebox
