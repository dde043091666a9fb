// SPDX-License-Identifier: Apache-2.0
#include "service/runs/transfer.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::string target_of(std::string_view text) {
  const auto file = parse_file_to_copy(text);
  return file ? file->target : "refused: " + file.error().message();
}

TEST(FileToCopyTest, IsPutUnderItsOwnNameUnlessAnotherIsGiven) {
  EXPECT_EQ(target_of("data.csv"), "data.csv");
  EXPECT_EQ(target_of("/home/me/data.csv"), "data.csv");
  EXPECT_EQ(target_of("some/directory//"), "directory");
  EXPECT_EQ(target_of("data.csv:"), "data.csv");
  EXPECT_EQ(target_of("data.csv:in/other.csv"), "in/other.csv");
  EXPECT_EQ(target_of("a/data.csv:in/"), "in/data.csv");
}

TEST(FileToCopyTest, TakesNamesBelowTheWorkspaceInFull) {
  EXPECT_EQ(target_of("data.csv:/workspace/in/data.csv"), "in/data.csv");
  EXPECT_EQ(target_of("data.csv:/workspace/"), "data.csv");
}

TEST(FileToCopyTest, KeepsTheSourceAsItWasWritten) {
  const auto file = parse_file_to_copy("../a b/data.csv:x");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->source, "../a b/data.csv");
}

TEST(FileToCopyTest, RefusesTargetsOutsideTheWorkspace) {
  for (const std::string_view text :
       {"a:/etc/passwd", "a:../a", "a:..", "a:x/../../a", "a:x/..", "a:/workspace/../etc/a",
        "a:/workspace//etc/a", "a:/workspaces/a", "a/.."}) {
    const auto file = parse_file_to_copy(text);
    ASSERT_FALSE(file) << text;
    EXPECT_EQ(file.error().code(), ErrorCode::kInvalid);
    EXPECT_THAT(file.error().hint(), Not(IsEmpty()));
  }
}

TEST(FileToCopyTest, AcceptsNamesThatOnlyLookLikeTheParent) {
  EXPECT_EQ(target_of("a:..b/c..d"), "..b/c..d");
  EXPECT_EQ(target_of("a:..."), "...");
}

TEST(FileToCopyTest, TheWorkspaceItselfIsATarget) {
  for (const char* const text : {"a:.", "a:./.", "a:/workspace", "."}) {
    EXPECT_EQ(target_of(text), ".") << text;
  }
  EXPECT_EQ(target_of("a:./b"), "b");
  EXPECT_EQ(target_of("a:./"), "a");
}

TEST(FileToCopyTest, RefusesToCopyNothing) {
  for (const std::string_view text : {"", ":", ":x"}) {
    EXPECT_FALSE(parse_file_to_copy(text)) << text;
  }
}

// A directory of the host, and a sandbox to copy to and from.
class TransferTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto sandbox = Sandbox::create({}, {});
    if (!sandbox) {
      GTEST_SKIP() << "no sandbox can be had here: " << sandbox.error().message() << "; "
                   << sandbox.error().hint();
    }
    sandbox_ = std::move(sandbox).value();
    std::string path = ::testing::TempDir() + "transfer-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    host_ = path;
  }
  void TearDown() override {
    if (!host_.empty()) {
      fs::remove_all(host_);
    }
  }

  [[nodiscard]] Sandbox& sandbox() { return *sandbox_; }
  [[nodiscard]] std::string path(const std::string& name) const { return host_ + "/" + name; }

  // Writes a file of the host, and returns its path.
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
    return path(name);
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // What a shell in the sandbox writes.
  std::string shell(const std::string& script) {
    const Command command{.argv = {"sh", "-c", script}, .env = {}, .cwd = {}};
    const auto outcome = sandbox_->run(command, {});
    if (!outcome) {
      return "not run: " + outcome.error().message();
    }
    return outcome->out.bytes + outcome->err.bytes;
  }

 private:
  std::unique_ptr<Sandbox> sandbox_;
  std::string host_;
};

TEST_F(TransferTest, CopiesFilesInWithTheirModes) {
  const std::string script = file("hello", "#!/bin/sh\necho hello\n");
  fs::permissions(script, fs::perms::owner_all);

  const auto copied = copy_in(sandbox(), {{.source = script, .target = "bin/hello"},
                                          {.source = file("data", "1,2\n"), .target = "data"}});

  ASSERT_TRUE(copied) << copied.error().message();
  EXPECT_EQ(shell("bin/hello; cat data"), "hello\n1,2\n");
}

TEST_F(TransferTest, AFullSandboxIsSaidToBeFullForSmallFilesAndForLargeOnes) {
  SandboxSpec spec;
  spec.limits.disk = Bytes{1 << 20};
  const auto small = Sandbox::create(spec, {});
  ASSERT_TRUE(small) << small.error().message();
  const auto copy = [&](std::size_t size) {
    const std::string source = file("in", std::string(size, 'x'));
    Result<void> copied;
    for (int i = 0; i < 16 && copied; ++i) {
      copied = copy_in(**small, {{.source = source, .target = "in" + std::to_string(i)}});
    }
    return copied;
  };
  for (const std::size_t size : {3'000'000, 200'000}) {
    const auto copied = copy(size);
    ASSERT_FALSE(copied) << size;
    EXPECT_EQ(copied.error().os_error(), ENOSPC) << copied.error().message();
    EXPECT_THAT(copied.error().hint(), HasSubstr("--disk")) << copied.error().message();
  }
}

TEST_F(TransferTest, CopiesALargeFileWhole) {
  const std::string source = file("large", std::string(3'000'000, 'x') + "end");

  const auto copied = copy_in(sandbox(), {{.source = source, .target = "deep/down/large"}});

  ASSERT_TRUE(copied) << copied.error().message();
  EXPECT_EQ(shell("wc -c < deep/down/large; tail -c 3 deep/down/large"), "3000003\nend");
}

TEST_F(TransferTest, CopiesADirectoryWithItsLinksAsLinks) {
  (void)file("tree/a/one", "1");
  fs::create_directories(path("tree/empty"));
  fs::create_symlink("a/one", path("tree/link"));
  fs::create_symlink(file("secret", "of the host"), path("tree/outside"));

  const auto copied = copy_in(sandbox(), {{.source = path("tree"), .target = "tree"}});

  ASSERT_TRUE(copied) << copied.error().message();
  EXPECT_EQ(shell("cat tree/a/one; readlink tree/link; ls -d tree/empty"), "1a/one\ntree/empty\n");
  EXPECT_EQ(shell("test -L tree/outside && cat tree/outside 2>/dev/null"), "");
}

TEST_F(TransferTest, RefusesToCopyWhatIsNeitherFileNorDirectory) {
  (void)file("tree/one", "1");
  ASSERT_EQ(::mkfifo(path("tree/pipe").c_str(), 0600), 0);

  for (const char* const name : {"tree", "tree/pipe"}) {
    const auto copied = copy_in(sandbox(), {{.source = path(name), .target = "x"}});
    ASSERT_FALSE(copied) << name;
    EXPECT_EQ(copied.error().code(), ErrorCode::kInvalid);
    EXPECT_THAT(copied.error().message(), HasSubstr("neither a file nor a directory"));
  }
  EXPECT_EQ(shell("echo alive"), "alive\n");
}

TEST_F(TransferTest, AnArchiveThatCannotBeWholeHasNoEnd) {
  (void)file("tree/one", std::string(100'000, 'x'));
  ASSERT_EQ(::mkfifo(path("tree/pipe").c_str(), 0600), 0);
  const std::vector<FileToCopy> files = {{.source = path("tree"), .target = "x"}};
  const auto end_of = [](int fd) {
    std::string end(1024, 'x');
    const off_t size = ::lseek(fd, 0, SEEK_END);
    return size < 1024 || ::pread(fd, end.data(), end.size(), size - 1024) != 1024 ? "" : end;
  };
  const UniqueFd refused(::memfd_create("refused", MFD_CLOEXEC));
  const UniqueFd whole(::memfd_create("whole", MFD_CLOEXEC));

  EXPECT_FALSE(write_archive(refused.get(), files));
  EXPECT_TRUE(write_archive(whole.get(), files, SpecialFiles::kLeftOut));

  // The end of a tar is two blocks of zeros.
  EXPECT_NE(end_of(refused.get()), std::string(1024, '\0'));
  EXPECT_EQ(end_of(whole.get()), std::string(1024, '\0'));
}

TEST_F(TransferTest, NamesTheFileThatCannotBeRead) {
  const auto copied = copy_in(sandbox(), {{.source = path("absent"), .target = "x"}});

  ASSERT_FALSE(copied);
  EXPECT_THAT(copied.error().message(), HasSubstr(path("absent")));
}

TEST_F(TransferTest, CopiesOutOnlyWhatChanged) {
  ASSERT_TRUE(copy_in(sandbox(), {{.source = file("same", "1"), .target = "same"},
                                  {.source = file("edited", "1"), .target = "edited"}}));
  ASSERT_TRUE(sandbox().mark());
  EXPECT_EQ(shell("echo 22 > edited; mkdir new; echo 3 > new/made"), "");

  const auto names = copy_out(sandbox(), path("out"), 1_MiB);

  ASSERT_TRUE(names) << names.error().message();
  EXPECT_THAT(*names, UnorderedElementsAre("edited", "new/made"));
  EXPECT_EQ(text("out/edited"), "22\n");
  EXPECT_EQ(text("out/new/made"), "3\n");
  EXPECT_FALSE(fs::exists(path("out/same")));
}

TEST_F(TransferTest, FollowsNoLinkToADirectoryInTheOutputDirectory) {
  (void)file("precious/file", "of the host");
  fs::create_directory(path("out"));
  fs::create_directory_symlink(path("precious"), path("out/inner"));
  ASSERT_TRUE(sandbox().mark());
  EXPECT_EQ(shell("mkdir inner; echo guest > inner/file; echo guest > inner/made"), "");

  (void)copy_out(sandbox(), path("out"), 1_MiB);

  EXPECT_EQ(text("precious/file"), "of the host");
  EXPECT_FALSE(fs::exists(path("precious/made")));
}

TEST_F(TransferTest, FollowsNoLinkToAFileInTheOutputDirectory) {
  const std::string precious = file("precious", "of the host");
  fs::create_directory(path("out"));
  fs::create_symlink(precious, path("out/file"));
  ASSERT_TRUE(sandbox().mark());
  EXPECT_EQ(shell("echo guest > file"), "");

  (void)copy_out(sandbox(), path("out"), 1_MiB);

  EXPECT_EQ(text("precious"), "of the host");
}

TEST_F(TransferTest, BringsNoLinksOfTheGuestOut) {
  ASSERT_TRUE(sandbox().mark());
  EXPECT_EQ(shell("ln -s /etc/passwd link; ln -s / root; mkfifo pipe; echo 1 > file"), "");

  const auto names = copy_out(sandbox(), path("out"), 1_MiB);

  ASSERT_TRUE(names) << names.error().message();
  EXPECT_THAT(*names, ElementsAre("file"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(path("out/link"))));
  EXPECT_FALSE(fs::exists(fs::symlink_status(path("out/root"))));
  EXPECT_FALSE(fs::exists(fs::symlink_status(path("out/pipe"))));
}

TEST_F(TransferTest, BringsOutNoFileThatIsSetUserId) {
  ASSERT_TRUE(sandbox().mark());
  EXPECT_EQ(shell("echo 1 > file; chmod 6777 file"), "");

  ASSERT_TRUE(copy_out(sandbox(), path("out"), 1_MiB));

  EXPECT_EQ(fs::status(path("out/file")).permissions() &
                (fs::perms::set_uid | fs::perms::set_gid | fs::perms::others_write),
            fs::perms::none);
}

TEST_F(TransferTest, BringsOutNoMoreThanItIsToldTo) {
  ASSERT_TRUE(sandbox().mark());
  EXPECT_EQ(shell("head -c 200000 /dev/zero > large; truncate -s 1T sparse; echo 1 > small"), "");

  const auto names = copy_out(sandbox(), path("out"), 100_KiB);

  ASSERT_TRUE(names) << names.error().message();
  EXPECT_THAT(*names, ElementsAre("small"));
  EXPECT_EQ(text("out/small"), "1\n");
  EXPECT_FALSE(fs::exists(path("out/large")));
  EXPECT_FALSE(fs::exists(path("out/sparse")));
}

TEST_F(TransferTest, SaysWhyThereCanBeNoOutDirectory) {
  ASSERT_TRUE(open_out_directory(path("new")));
  EXPECT_TRUE(fs::is_directory(path("new")));
  EXPECT_TRUE(open_out_directory(path("new"))) << "one that exists will do";

  std::ofstream(path("plain")) << "precious";
  const auto in_the_way = open_out_directory(path("plain"));
  ASSERT_FALSE(in_the_way);
  EXPECT_EQ(in_the_way.error().code(), ErrorCode::kInvalid);
  EXPECT_NE(in_the_way.error().hint(), "");
  EXPECT_EQ(text("plain"), "precious");

  const auto deeper = open_out_directory(path("no/such"));
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace glovebox
