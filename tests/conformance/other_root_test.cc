// SPDX-License-Identifier: Apache-2.0
// Sandboxes that show another root in place of the host's.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "fixture.h"
#include "sandbox/foreign_root.h"
#include "small_root.h"

namespace glovebox::conformance {
namespace {

using testing::HasSubstr;
using testing::Not;

class OtherRootTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!Sandbox::create({}, {.exactly = "native", .at_least = {}})) {
      GTEST_SKIP() << "the tier native does not work here";
    }
  }

  void prepare() const {
    const UniqueFd fd(::open(root_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto prepared = prepare_foreign_root(fd.get());
    ASSERT_TRUE(prepared) << prepared.error().message();
  }

  [[nodiscard]] Result<std::unique_ptr<Sandbox>> make(const char* tier = "native") const {
    SandboxSpec spec;
    spec.root = root_.path();
    return Sandbox::create(spec, {.exactly = tier, .at_least = {}});
  }

  // What a script says on both streams.
  [[nodiscard]] std::string said(const std::string& script) const {
    auto sandbox = make();
    if (!sandbox) {
      return "no sandbox: " + sandbox.error().message();
    }
    const Command command{.argv = {"/bin/bash", "-c", script}, .env = {}, .cwd = {}};
    auto outcome = (*sandbox)->run(command, {});
    return outcome ? outcome->out.bytes + outcome->err.bytes : outcome.error().message();
  }

  SmallRoot root_;
};

TEST_F(OtherRootTest, ItsFilesAreSeenAndTheHostsAreNot) {
  root_.add_file("srv/mark", "of the template");
  root_.add_file("opt/tool/mark", "of a tool");
  prepare();
  EXPECT_EQ(said("cat /srv/mark"), "of the template");
  EXPECT_EQ(said("cat /opt/tool/mark"), "of a tool");
  EXPECT_EQ(said("ls /usr/bin"), "bash\ncat\nid\nls\nsh\n");
}

TEST_F(OtherRootTest, OursHoldInPlaceOfItsUsersAndHosts) {
  root_.add_file("etc/passwd", "evil:x:1000:1000::/:/bin/bash\n");
  root_.add_file("etc/hosts", "1.2.3.4 localhost\n");
  prepare();
  EXPECT_THAT(said("cat /etc/passwd"), HasSubstr("guest:x:1000"));
  EXPECT_THAT(said("cat /etc/passwd"), Not(HasSubstr("evil")));
  EXPECT_THAT(said("cat /etc/hosts"), HasSubstr("127.0.0.1 localhost"));
  EXPECT_THAT(said("id"), HasSubstr("uid=1000(guest)"));
}

TEST_F(OtherRootTest, NothingOfItCanBeWritten) {
  root_.add_file("srv/mark", "as it was");
  prepare();
  const std::string answer = said(
      "for f in /srv/mark /usr/bin/bash /etc/passwd /etc/new /usr/new /new /run/glovebox/passwd;"
      " do (echo x > $f) 2>/dev/null && echo wrote $f; done; cat /srv/mark;"
      " echo y > /workspace/f && echo z > /tmp/f && echo w > /var/tmp/g && cat /tmp/g");
  EXPECT_EQ(answer, "as it wasw\n");
}

TEST_F(OtherRootTest, LinksAtItsTopLeadToWhatTheGuestSees) {
  root_.add_link("secrets", "/etc");
  root_.add_link("above", "../../../../../../tmp");
  root_.add_link("opt", "/etc");
  root_.add_link("workspace", "/etc");
  root_.add_link("media", "/proc/1/root");
  prepare();
  EXPECT_THAT(said("cat /secrets/passwd"), HasSubstr("guest:x:1000"));
  EXPECT_EQ(said("ls /above/ /opt /workspace"), "/above/:\n\n/opt:\nglovebox\n\n/workspace:\n");
  EXPECT_THAT(said("ls /media/ && echo led somewhere"), Not(HasSubstr("led somewhere")));
}

TEST_F(OtherRootTest, LinksInPlaceOfItsFilesAreNotFollowedOutside) {
  root_.add_link("etc", "/etc");
  root_.add_link("var", "/var");
  prepare();
  EXPECT_THAT(said("cat /etc/passwd"), HasSubstr("guest:x:1000"));
  EXPECT_EQ(said("ls /etc"), "group\nhosts\nnsswitch.conf\npasswd\n");
  EXPECT_EQ(said("ls /var"), "tmp\n");
}

TEST_F(OtherRootTest, ALinkThatPretendsToBeTheUsersFileIsReplaced) {
  root_.add_file("etc/other", "untouched");
  root_.add_link("etc/passwd", "other");
  root_.add_link("etc/hosts", "/etc/hostname");
  prepare();
  EXPECT_THAT(said("cat /etc/passwd"), HasSubstr("guest:x:1000"));
  EXPECT_EQ(said("cat /etc/other"), "untouched");
}

TEST_F(OtherRootTest, ARootThatWasNotPreparedIsRefused) {
  const auto made = make();
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("/etc/passwd"));
}

TEST_F(OtherRootTest, ALinkAsTheRootItselfIsRefused) {
  prepare();
  root_.add_link("again", root_.path());
  SandboxSpec spec;
  spec.root = root_.path() + "/again";
  EXPECT_FALSE(Sandbox::create(spec, {.exactly = "native", .at_least = {}}));
}

TEST_F(OtherRootTest, ARootWithTooManyNamesAtItsTopIsRefused) {
  for (int i = 0; i < 100; ++i) {
    root_.add_file("d" + std::to_string(i) + "/f", "");
  }
  prepare();
  const auto made = make();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kInvalid);
}

TEST_F(OtherRootTest, AMissingProgramIsNamed) {
  prepare();
  auto sandbox = make();
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  const Command command{.argv = {"python3", "-c", "1"}, .env = {}, .cwd = {}};
  const auto outcome = (*sandbox)->run(command, {});
  const std::string message =
      outcome ? outcome->err.bytes : outcome.error().message() + outcome.error().hint();
  EXPECT_THAT(message, HasSubstr("python3"));
}

TEST_F(OtherRootTest, TheTierLandlockRefusesIt) {
  prepare();
  const auto made = make("landlock");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace glovebox::conformance
