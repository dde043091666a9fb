// SPDX-License-Identifier: Apache-2.0
// Attachments: file systems on disk in real sandboxes, and where they cannot be.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fixture.h"
#include "volume/image_file.h"
#include "volume/mounted_image.h"

namespace glovebox::conformance {
namespace {

class Attachments : public testing::Test {
 protected:
  void SetUp() override {
    (void)::setenv("GLOVEBOX_WARDEN", GB_WARDEN_PATH, 0);
    std::string pattern = "/tmp/glovebox-attached-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    if (const auto usable = images_usable(); !usable) {
      GTEST_SKIP() << usable.error().message();
    }
    const auto made = make_image(directory_ + "/image", {8_MiB, 64}, directory_ + "/stock");
    ASSERT_TRUE(made) << made.error().message();
    auto opened = MountedImage::open(directory_ + "/image");
    ASSERT_TRUE(opened) << opened.error().message();
    image_ = std::move(opened).value();
  }
  void TearDown() override {
    image_.reset();
    std::filesystem::remove_all(directory_);
  }

  [[nodiscard]] Result<std::unique_ptr<Sandbox>> attempt(const std::string& target,
                                                         const std::string& tier,
                                                         bool read_only = false) const {
    const UniqueFd mount = GB_TRY(
        image_->mount(read_only ? MountedImage::Access::kRead : MountedImage::Access::kWrite));
    SandboxSpec spec;
    spec.attachments = {{.mount_fd = mount.get(), .target = target}};
    return Sandbox::create(spec, {.exactly = tier, .at_least = {}});
  }
  [[nodiscard]] std::unique_ptr<Sandbox> make(const std::string& target,
                                              bool read_only = false) const {
    auto made = attempt(target, "native", read_only);
    EXPECT_TRUE(made) << made.error().message();
    return made ? std::move(made).value() : nullptr;
  }

  static std::string output(Sandbox& sandbox, const std::string& script) {
    Command command;
    command.argv = {"/bin/sh", "-c", script};
    const auto outcome = sandbox.run(command, {});
    EXPECT_TRUE(outcome) << outcome.error().message();
    return outcome ? outcome->out.bytes + outcome->err.bytes : std::string();
  }

  std::string directory_;
  std::shared_ptr<MountedImage> image_;
};

TEST_F(Attachments, BelongToTheGuestWhoeverThatIsOutside) {
  const auto first = make("/volumes/data");
  const auto second = make("/mnt/data");
  EXPECT_EQ(output(*first, "echo kept > /volumes/data/file; stat -c %u:%g /volumes/data/file"),
            "1000:1000\n");
  EXPECT_EQ(output(*second,
                   "cat /mnt/data/file; stat -c %u:%g /mnt/data/file; rm /mnt/data/file;"
                   "ls /mnt/data"),
            "kept\n1000:1000\n");
}

TEST_F(Attachments, CanBeTheWorkspace) {
  const auto sandbox = make("/workspace");
  EXPECT_EQ(output(*sandbox, "pwd; ls -A; echo text > file; stat -f -c %T ."),
            "/workspace\next2/ext3\n");
  EXPECT_TRUE(sandbox->write_file("written", "from outside", 0644));
  EXPECT_EQ(output(*sandbox, "cat file written"), "text\nfrom outside");
}

TEST_F(Attachments, GiveAGuestNoPower) {
  const auto sandbox = make("/volumes/data");
  const std::string said =
      output(*sandbox,
             "grep ' /volumes/data ' /proc/self/mountinfo | cut -d' ' -f6;"
             "cp /usr/bin/id /volumes/data/id; chmod u+s /volumes/data/id; /volumes/data/id -u;"
             "mount -o remount,suid /volumes/data 2> /dev/null || echo no remount;"
             "umount /volumes/data 2> /dev/null || echo no umount;"
             "mknod /volumes/data/node b 7 0 2> /dev/null || echo no node;"
             "ls /dev | grep loop || echo no device");
  EXPECT_THAT(said, testing::StartsWith("rw,nosuid,nodev"));
  EXPECT_THAT(said, testing::EndsWith("1000\nno remount\nno umount\nno node\nno device\n"));
}

TEST_F(Attachments, ThatMayOnlyBeReadAreOnlyRead) {
  const auto writer = make("/volumes/data");
  (void)output(*writer, "echo text > /volumes/data/file");
  const auto reader = make("/volumes/data", true);
  EXPECT_EQ(output(*reader, "cat /volumes/data/file; (rm /volumes/data/file) 2>&1 | tail -c 22"),
            "text\nRead-only file system\n");
}

TEST_F(Attachments, AreSeenByNobodyElse) {
  const auto sandbox = make("/volumes/data");
  std::ifstream file("/proc/self/mountinfo");
  const std::string table((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(table.find("/volumes/data"), std::string::npos);
  EXPECT_EQ(table.find("/dev/loop"), std::string::npos);
}

TEST_F(Attachments, AreRefusedWhereTheyCannotBe) {
  const auto weak = attempt("/volumes/data", "landlock");
  ASSERT_FALSE(weak);
  EXPECT_EQ(weak.error().code(), ErrorCode::kUnsupported);
  EXPECT_FALSE(weak.error().hint().empty());
  const auto system = attempt("/usr/data", "native");
  ASSERT_FALSE(system);
  EXPECT_EQ(system.error().code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace glovebox::conformance
