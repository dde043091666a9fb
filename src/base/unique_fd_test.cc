// SPDX-License-Identifier: Apache-2.0
#include "base/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace glovebox {
namespace {

static_assert(!std::is_copy_constructible_v<UniqueFd> && !std::is_copy_assignable_v<UniqueFd>);
static_assert(!std::is_convertible_v<int, UniqueFd>);
static_assert(std::is_nothrow_move_constructible_v<UniqueFd>);

UniqueFd some_fd() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFdTest, ClosesAtItsEnd) {
  int number = -1;
  {
    const UniqueFd fd = some_fd();
    number = fd.get();
    ASSERT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFdTest, OwnsNothingByDefaultOrAfterAFailedCall) {
  EXPECT_FALSE(UniqueFd());
  EXPECT_FALSE(UniqueFd(-1));
  EXPECT_EQ(UniqueFd().get(), -1);
}

TEST(UniqueFdTest, TakesZeroForADescriptor) {
  UniqueFd zero(0);

  EXPECT_TRUE(zero);
  EXPECT_EQ(zero.release(), 0);
}

TEST(UniqueFdTest, MovesItsDescriptorWithoutClosingIt) {
  UniqueFd from = some_fd();
  const int number = from.get();

  const UniqueFd to = std::move(from);

  EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move): what is left is the subject.
  EXPECT_EQ(to.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFdTest, ClosesWhatItHadWhenAnotherIsMovedIn) {
  UniqueFd to = some_fd();
  UniqueFd from = some_fd();
  const int old_number = to.get();
  const int new_number = from.get();

  to = std::move(from);

  EXPECT_FALSE(is_open(old_number));
  EXPECT_TRUE(is_open(new_number));
  EXPECT_EQ(to.get(), new_number);
}

TEST(UniqueFdTest, SurvivesAMoveIntoItself) {
  UniqueFd fd = some_fd();
  UniqueFd& same = fd;

  fd = std::move(same);

  EXPECT_TRUE(fd);
  EXPECT_TRUE(is_open(fd.get()));
}

TEST(UniqueFdTest, LeavesAReleasedDescriptorOpen) {
  int number = -1;
  {
    UniqueFd fd = some_fd();
    number = fd.release();
    EXPECT_FALSE(fd);
  }
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST(UniqueFdTest, ClosesOnceHoweverOftenItIsReset) {
  UniqueFd fd = some_fd();
  const int number = fd.get();
  fd.reset();
  ASSERT_FALSE(is_open(number));

  const UniqueFd successor(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, number));
  ASSERT_EQ(successor.get(), number);
  fd.reset();

  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFdTest, KeepsErrnoWhenItCloses) {
  UniqueFd fd = some_fd();
  ::close(fd.get());  // So that the close in reset() fails.
  errno = ENOTTY;

  fd.reset();

  EXPECT_EQ(errno, ENOTTY);
}

TEST(UniqueFdTest, Swaps) {
  UniqueFd one = some_fd();
  UniqueFd none;
  const int number = one.get();

  one.swap(none);

  EXPECT_FALSE(one);
  EXPECT_EQ(none.get(), number);
}

}  // namespace
}  // namespace glovebox
