// SPDX-License-Identifier: Apache-2.0
#include "sandbox/policy/watched.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/policy/filter_answer.h"

namespace glovebox::policy {
namespace {

// A filter that asks in place of refusing, and the one that it stands for. Of the filters that a
// process is under, the strictest answer holds: the least, as the kernel numbers them.
struct Pair {
  std::string name;
  std::vector<Filter> plain;
  std::vector<Filter> watched;
};
std::ostream& operator<<(std::ostream& out, const Pair& pair) { return out << pair.name; }

std::uint32_t strictest(const std::vector<Filter>& filters, const Call& call) {
  std::uint32_t found = SECCOMP_RET_ALLOW;
  for (const Filter filter : filters) {
    const std::uint32_t said = answer(filter, call);
    const auto order = [](std::uint32_t value) {
      return static_cast<std::int32_t>(value & SECCOMP_RET_ACTION_FULL);
    };
    found = order(said) < order(found) ? said : found;
  }
  return found;
}

class WatchedPolicyTest : public ::testing::TestWithParam<Pair> {};

INSTANTIATE_TEST_SUITE_P(
    Policies,
    WatchedPolicyTest,
    ::testing::Values(Pair{"default", {default_filter()}, {watched_default_filter()}},
                      Pair{"root", {root_filter()}, {watched_root_filter()}},
                      Pair{"nested", {nested_filter()}, {watched_nested_filter()}},
                      Pair{"zygote", {zygote_filter()}, {watched_zygote_filter()}},
                      Pair{"fork",
                           {zygote_filter(), fork_filter()},
                           {watched_zygote_filter(), watched_fork_filter()}},
                      Pair{"guest",
                           {default_filter(), guest_filter()},
                           {watched_default_filter(), guest_filter()}}),
    [](const auto& pair) { return pair.param.name; });

TEST_P(WatchedPolicyTest, AsksOnlyWhereTheAnswerIsTheErrnoOfThePlainOneOrToGoOn) {
  constexpr std::uint64_t kUser = 0x10000000;  // CLONE_NEWUSER; for others, any number.
  std::size_t asked = 0;
  for (std::uint32_t number = 0; number < 2048; ++number) {
    for (const std::uint64_t first :
         {std::uint64_t{0}, kUser, kJunk | kUser, std::uint64_t{0x11}}) {
      const Call each = call(number, {first});
      const std::uint32_t plain = strictest(GetParam().plain, each);
      const std::uint32_t watched = strictest(GetParam().watched, each);
      if (watched != SECCOMP_RET_USER_NOTIF) {
        EXPECT_EQ(watched, plain) << number;
        continue;
      }
      ++asked;
      const auto known = watched_call(static_cast<int>(number));
      ASSERT_TRUE(known) << number;
      EXPECT_EQ(plain, known->error == 0 ? SECCOMP_RET_ALLOW : refused(known->error)) << number;
    }
  }
  EXPECT_GT(asked, 100U);
}

TEST(WatchedCallTest, OnlyStartsOfProgramsGoOn) {
  for (int number = 0; number < 2048; ++number) {
    const auto known = watched_call(number);
    if (known && known->error == 0) {
      EXPECT_TRUE(number == SYS_execve || number == SYS_execveat) << number;
    }
  }
  EXPECT_EQ(watched_call(SYS_mount)->name, "mount");
  EXPECT_EQ(watched_call(SYS_keyctl)->error, ENOSYS);
  EXPECT_FALSE(watched_call(SYS_clone3));
  EXPECT_FALSE(watched_call(SYS_read));
}

}  // namespace
}  // namespace glovebox::policy
