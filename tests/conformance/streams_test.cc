// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "fixture.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Streams : public Conformance {};

// What this process holds in memory now.
Bytes memory_of_ours() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  file >> total >> resident;
  return Bytes{resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
}

TEST_P(Streams, PassBinaryInputThroughExactly) {
  const std::string sent = binary(5 << 20);
  const UniqueFd input = file_with(sent);
  const RunOutcome outcome = sh("cat", {.limits = {.output = 8_MiB}, .stdin_fd = input.get()});
  EXPECT_EQ(outcome.status, Status::kOk);
  EXPECT_EQ(outcome.out.total, sent.size());
  EXPECT_TRUE(outcome.out.bytes == sent) << "other bytes came back";
  EXPECT_FALSE(outcome.out.truncated);
}

TEST_P(Streams, PassInputThroughAsItIsWritten) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::pipe2(pair.data(), O_CLOEXEC), 0);
  const UniqueFd input(pair[0]);
  UniqueFd writer(pair[1]);
  RunOptions options{.limits = {}, .stdin_fd = input.get()};
  // The guest asks, is answered, and asks again: no side may wait for more than it was sent.
  int asked = 0;
  options.observer.out = [&](std::string_view) {
    if (++asked <= 3) {
      EXPECT_EQ(::write(writer.get(), "answer\n", 7), 7);
    } else {
      writer.reset();
    }
  };
  const RunOutcome outcome =
      sh("for i in 1 2 3; do echo ask; read -r line; [ \"$line\" = answer ] || exit 1; done; "
         "echo last; read -r line || exit 7",
         options);
  EXPECT_EQ(outcome.exit_code, 7) << "the end of the input was not seen";
}

TEST_P(Streams, GiveEmptyInputWhereThereIsNone) { EXPECT_EQ(output_of("cat; echo end"), "end\n"); }

TEST_P(Streams, DoNotWaitForAGuestThatNeverReads) {
  const UniqueFd input = file_with(std::string(5 << 20, 'x'));
  EXPECT_EQ(sh("exit 4", {.limits = {}, .stdin_fd = input.get()}).exit_code, 4);
}

TEST_P(Streams, DoNotWaitForInputThatNeverComes) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::pipe2(pair.data(), O_CLOEXEC), 0);
  const UniqueFd input(pair[0]);
  const UniqueFd writer(pair[1]);
  EXPECT_EQ(sh("echo done; exit 6", {.limits = {}, .stdin_fd = input.get()}).exit_code, 6);
}

TEST_P(Streams, GiveNoInputToTheNextRun) {
  const UniqueFd input = file_with("left over\n");
  EXPECT_EQ(sh("true", {.limits = {}, .stdin_fd = input.get()}).status, Status::kOk);
  EXPECT_EQ(output_of("cat; echo end"), "end\n");
}

TEST_P(Streams, KeepOutputAndErrorApart) {
  const RunOutcome outcome =
      sh("i=0; while [ $i -lt 500 ]; do echo out$i; echo err$i >&2; i=$((i+1)); done");
  std::string out;
  std::string err;
  for (int i = 0; i < 500; ++i) {
    out += "out" + std::to_string(i) + "\n";
    err += "err" + std::to_string(i) + "\n";
  }
  EXPECT_EQ(outcome.out.bytes, out);
  EXPECT_EQ(outcome.err.bytes, err);
}

TEST_P(Streams, KeepNulBytesAndBrokenText) {
  EXPECT_EQ(output_of("printf 'a\\0b\\377\\376\\n\\0'"), std::string("a\0b\xff\xfe\n\0", 7));
}

TEST_P(Streams, KeepTheHeadAndTheTailOfTooMuchAndCountAllOfIt) {
  const RunOutcome outcome = sh("seq 1 100000", {.limits = {.output = 1_KiB}});
  EXPECT_EQ(outcome.status, Status::kOk);
  EXPECT_TRUE(outcome.out.truncated);
  EXPECT_EQ(outcome.out.total, 588'895U);
  EXPECT_THAT(outcome.out.bytes, testing::StartsWith("1\n2\n3\n"));
  EXPECT_THAT(outcome.out.bytes, testing::EndsWith("\n99999\n100000\n"));
  EXPECT_THAT(outcome.out.bytes, HasSubstr("[glovebox: 587871 bytes not kept]"));
  EXPECT_LT(outcome.out.bytes.size(), 1'200U);
  EXPECT_THAT(outcome.hits, testing::Contains("output"));
}

TEST_P(Streams, KeepWhatIsExactlyAsLongAsTheLimit) {
  const RunOutcome outcome = sh("head -c 1024 /dev/zero", {.limits = {.output = 1_KiB}});
  EXPECT_EQ(outcome.out.bytes, std::string(1024, '\0'));
  EXPECT_FALSE(outcome.out.truncated);
  EXPECT_THAT(outcome.hits, testing::IsEmpty());
}

TEST_P(Streams, HoldNoFloodInMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer holds memory of its own";
#endif
  sandbox();
  const Bytes before = memory_of_ours();
  Bytes most = before;
  std::uint64_t seen = 0;
  RunOptions options;
  options.observer.out = [&](std::string_view bytes) {
    seen += bytes.size();
    most = std::max(most, memory_of_ours());
  };
  const RunOutcome outcome = sh("head -c 200000000 /dev/zero", options);
  EXPECT_EQ(outcome.status, Status::kOk);
  EXPECT_EQ(outcome.out.total, 200'000'000U);
  EXPECT_EQ(seen, 200'000'000U);
  EXPECT_LT(most.count, before.count + (32_MiB).count);
}

TEST_P(Streams, AreReadToTheEndWhenTheGuestIsGone) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(sh("head -c 60000 /dev/zero").out.total, 60'000U) << "run " << i;
  }
}

TEST_P(Streams, DoNotWaitForABackgroundProcessThatHoldsThem) {
  const RunOutcome outcome = sh("sleep 1000 & echo done", {.limits = {.wall = 60s}});
  EXPECT_EQ(outcome.status, Status::kOk);
  EXPECT_EQ(outcome.out.bytes, "done\n");
}

GB_FOR_EVERY_TIER(Streams);

}  // namespace
}  // namespace glovebox::conformance
