// SPDX-License-Identifier: Apache-2.0
#include "service/runs/ready_runs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <string>

namespace glovebox {
namespace {

// What cannot be made ready, and counts how often somebody tries.
class Failing {
 public:
  std::function<ReadyRuns::Make()> described() {
    return [this]() -> ReadyRuns::Make {
      ++described_;
      return [this]() -> Result<ReadyRun> {
        if (++tries_ == 1) {
          tried_.set_value();
        }
        return Error(ErrorCode::kUnavailable, "no");
      };
    };
  }
  void await_try() { tried_.get_future().wait(); }
  [[nodiscard]] int descriptions() const { return described_; }
  [[nodiscard]] int tries() const { return tries_; }

 private:
  std::promise<void> tried_;
  std::atomic<int> described_ = 0;
  std::atomic<int> tries_ = 0;
};

ReadyKind kind(const std::string& tenant, const std::string& digest) {
  return {.tenant = tenant, .command = {.argv = {"/workspace/main.wasm"}}, .digest = digest};
}

TEST(ReadyRunsTest, MakesNothingOfWhatWasRunOnce) {
  ReadyRuns runs;
  Failing one;
  Failing again;
  EXPECT_EQ(runs.claim(kind("a", "1"), one.described()), nullptr);
  EXPECT_EQ(runs.claim(kind("a", "2"), again.described()), nullptr);
  EXPECT_EQ(runs.claim(kind("a", "2"), again.described()), nullptr);
  again.await_try();
  EXPECT_EQ(one.descriptions(), 0);
  EXPECT_EQ(again.descriptions(), 1);
}

TEST(ReadyRunsTest, KnowsTheRunsOfOneTenantFromThoseOfAnother) {
  ReadyRuns runs;
  Failing one;
  Failing other;
  (void)runs.claim(kind("a", "1"), one.described());
  (void)runs.claim(kind("b", "1"), other.described());
  EXPECT_EQ(one.descriptions() + other.descriptions(), 0);
}

TEST(ReadyRunsTest, DoesNotTryAgainAtOnceWhatCannotBeMadeReady) {
  ReadyRuns runs;
  Failing bad;
  (void)runs.claim(kind("a", "1"), bad.described());
  (void)runs.claim(kind("a", "1"), bad.described());
  bad.await_try();
  (void)runs.claim(kind("a", "1"), bad.described());
  // One thread makes all: when the next one has been tried, the first was left alone.
  Failing next;
  (void)runs.claim(kind("a", "2"), next.described());
  (void)runs.claim(kind("a", "2"), next.described());
  next.await_try();
  EXPECT_EQ(bad.tries(), 1);
  EXPECT_EQ(runs.ready(), 0U);
}

TEST(ReadyRunsTest, ForgetsTheOldestOfATenantWithMany) {
  ReadyRuns runs;
  Failing first;
  Failing other;
  (void)runs.claim(kind("a", "first"), first.described());
  (void)runs.claim(kind("b", "other"), other.described());
  for (int i = 0; i < 16; ++i) {
    (void)runs.claim(kind("a", std::to_string(i)), first.described());
  }
  (void)runs.claim(kind("a", "first"), first.described());
  (void)runs.claim(kind("b", "other"), other.described());
  EXPECT_EQ(first.descriptions(), 0);
  EXPECT_EQ(other.descriptions(), 1);
}

}  // namespace
}  // namespace glovebox
