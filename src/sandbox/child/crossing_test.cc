// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/crossing.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/sys/pipe.h"
#include "base/unique_fd.h"
#include "sandbox/launch.h"

namespace glovebox::child {
namespace {

// What await_maker() returns in a child of a maker that does what `maker` says. As between clone
// and exec, the child has the maker's end of the pipe open, too.
template <typename Maker>
long answer_to_child_of(Maker maker) {
  const sys::Pipe go = sys::make_pipe().value();
  const sys::Pipe told = sys::make_pipe().value();
  const pid_t made = ::fork();
  if (made == 0) {
    const UniqueFd ourselves = own_pidfd().value();
    if (::fork() == 0) {
      const long answer = await_maker(go.read.get(), ourselves.get());
      (void)!::write(told.write.get(), &answer, sizeof answer);
      ::_exit(0);
    }
    maker(go.write.get());
    ::_exit(0);
  }
  EXPECT_GT(made, 0);
  EXPECT_EQ(::waitpid(made, nullptr, 0), made);
  long answer = 0;
  EXPECT_EQ(::read(told.read.get(), &answer, sizeof answer), ssize_t{sizeof answer});
  return answer;
}

TEST(AwaitMakerTest, GoesOnWhenTheMakerSaysSo) {
  EXPECT_EQ(answer_to_child_of([](int go) { (void)!::write(go, "g", 1); }), 0);
}

TEST(AwaitMakerTest, GivesUpWhenTheMakerDiesThoughItsDescriptorsAreStillOpenHere) {
  EXPECT_EQ(answer_to_child_of([](int) {}), -ECANCELED);
}

}  // namespace
}  // namespace glovebox::child
