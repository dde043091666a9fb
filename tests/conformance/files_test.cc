// SPDX-License-Identifier: Apache-2.0
// Files into a sandbox, what is said to have changed there, and files out of it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "base/archive/tar.h"
#include "fixture.h"

namespace glovebox::conformance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

using Kind = FileChange::Kind;

class Files : public Conformance {
 protected:
  // Path -> kind of what changed since the mark.
  std::map<std::string, Kind> changed() {
    auto changes = sandbox().changed_files();
    std::map<std::string, Kind> kinds;
    if (!changes) {
      ADD_FAILURE() << changes.error().message();
      return kinds;
    }
    EXPECT_FALSE(changes->truncated);
    for (const FileChange& file : changes->files) {
      kinds[file.path] = file.kind;
    }
    return kinds;
  }

  // Path -> content of what pack_changes() gives.
  std::map<std::string, std::string> packed(Bytes max = 64_MiB) {
    const UniqueFd archive = file_with("");
    auto done = sandbox().pack_changes(max, [&archive](std::string_view bytes) -> Result<void> {
      if (::write(archive.get(), bytes.data(), bytes.size()) !=
          static_cast<ssize_t>(bytes.size())) {
        return Error::from_errno("write the archive");
      }
      return {};
    });
    EXPECT_TRUE(done) << done.error().message();
    ::lseek(archive.get(), 0, SEEK_SET);
    return extract(archive.get());
  }

 private:
  std::map<std::string, std::string> extract(int archive) {
    std::string directory = testing::TempDir() + "conformance-XXXXXX";
    EXPECT_NE(::mkdtemp(directory.data()), nullptr);
    std::map<std::string, std::string> files;
    {
      const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      const auto done =
          extract_tar(archive, fd.get(), {.max_bytes = 64U << 20}, [&](std::string_view name) {
            std::ifstream file(directory + "/" + std::string(name), std::ios::binary);
            files[std::string(name)] = {std::istreambuf_iterator<char>(file), {}};
          });
      EXPECT_TRUE(done) << done.error().message();
    }
    std::filesystem::remove_all(directory);
    return files;
  }
};

// A tar archive of regular files and directories (those end in "/").
UniqueFd archive_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  UniqueFd archive = file_with("");
  auto writer = TarWriter::create(archive.get());
  for (const auto& [name, content] : entries) {
    const bool directory = name.ends_with('/');
    const UniqueFd file = file_with(content);
    EXPECT_TRUE(directory ? writer->add_directory(name, 0755) : writer->add_file(name, file.get()));
  }
  EXPECT_TRUE(writer->finish());
  ::lseek(archive.get(), 0, SEEK_SET);
  return archive;
}

TEST_P(Files, AreWrittenWithTheirBytesModeAndDirectories) {
  const std::string bytes = binary(100'000);
  ASSERT_TRUE(sandbox().write_file("a/b/c.bin", bytes, 0640));
  ASSERT_TRUE(sandbox().write_file("empty", "", 0755));
  const RunOutcome outcome = sh("cat a/b/c.bin");
  EXPECT_TRUE(outcome.out.bytes == bytes);
  EXPECT_EQ(output_of("stat -c '%a %s %u' a/b/c.bin empty; id -u").substr(0, 11), "640 100000 ");
  EXPECT_EQ(output_of("stat -c '%a %s' empty"), "755 0\n");
  EXPECT_EQ(output_of("[ -O a/b/c.bin ] && echo own >>a/b/c.bin && echo yes"), "yes\n");
}

TEST_P(Files, AreWrittenWithoutSetIdBits) {
  ASSERT_TRUE(sandbox().write_file("tool", "x", 06755));
  EXPECT_EQ(output_of("stat -c %a tool"), "755\n");
}

TEST_P(Files, ReplaceWhatIsThere) {
  ASSERT_TRUE(sandbox().write_file("file", "a long first version", 0644));
  ASSERT_TRUE(sandbox().write_file("file", "second", 0600));
  EXPECT_EQ(output_of("cat file; stat -c ' %a' file"), "second 600\n");
}

TEST_P(Files, AreRefusedOutsideTheWorkspace) {
  for (const char* const path : {"../x", "a/../../x", "/etc/x", "/workspace/../x", "/tmp/../x", "",
                                 "/", ".", "..", "/proc/self/environ"}) {
    EXPECT_FALSE(sandbox().write_file(path, "x", 0644)) << path;
  }
  output_of("ln -s \"$TMPDIR\" out; ln -s \"$TMPDIR/x\" link; mkdir directory");
  EXPECT_FALSE(sandbox().write_file("out/x", "x", 0644));
  EXPECT_FALSE(sandbox().write_file("link", "x", 0644));
  EXPECT_FALSE(sandbox().write_file("directory", "x", 0644));
  EXPECT_EQ(output_of("ls -A \"$TMPDIR\""), "");
}

TEST_P(Files, AreRefusedWhereAGuestLaidAFifo) {
  output_of("mkfifo trap");
  EXPECT_FALSE(sandbox().write_file("trap", "x", 0644));
  EXPECT_EQ(output_of("echo on"), "on\n");
}

TEST_P(Files, AreUnpackedFromAnArchive) {
  const std::string large = binary(5 << 20);
  const UniqueFd archive = archive_of({{"d/", ""}, {"d/large", large}, {"none", ""}, {"x y", "1"}});
  const auto done = sandbox().unpack("in/to", archive.get());
  ASSERT_TRUE(done) << done.error().message();
  const RunOutcome outcome = sh("cat in/to/d/large", {.limits = {.output = 8_MiB}});
  EXPECT_TRUE(outcome.out.bytes == large);
  EXPECT_EQ(output_of("cd in/to; stat -c %s none; cat 'x y'; find . | wc -l"), "0\n15\n");
}

TEST_P(Files, OfAnArchiveAreRefusedOutsideTheWorkspace) {
  for (const char* const name : {"../x", "/etc/x", "a/../../x"}) {
    const UniqueFd archive = archive_of({{name, "x"}});
    EXPECT_FALSE(sandbox().unpack("", archive.get())) << name;
  }
  const UniqueFd archive = archive_of({{"x", "x"}});
  EXPECT_FALSE(sandbox().unpack("../..", archive.get()));
  EXPECT_EQ(output_of("ls; echo on"), "on\n");
}

TEST_P(Files, OfABrokenArchiveAreAnErrorAndNotTheEnd) {
  const UniqueFd nonsense = file_with(binary(100'000));
  EXPECT_FALSE(sandbox().unpack("", nonsense.get()));
  EXPECT_TRUE(sandbox().alive());
  EXPECT_EQ(output_of("echo on"), "on\n");
}

TEST_P(Files, ThatChangedAreToldFromThoseThatDidNot) {
  for (const char* const name : {"kept", "grown", "gone", "d/deep"}) {
    ASSERT_TRUE(sandbox().write_file(name, "first", 0644));
  }
  ASSERT_TRUE(sandbox().mark());
  EXPECT_THAT(changed(), IsEmpty());
  output_of("echo more >>grown; rm gone; echo x >d/new; : >empty; cat kept d/deep >/dev/null");
  EXPECT_THAT(changed(),
              UnorderedElementsAre(Pair("grown", Kind::kModified), Pair("gone", Kind::kDeleted),
                                   Pair("d/new", Kind::kCreated), Pair("empty", Kind::kCreated)));
  ASSERT_TRUE(sandbox().mark());
  EXPECT_THAT(changed(), IsEmpty());
}

TEST_P(Files, ThatChangedAtOnceAndKeptTheirSizeAreNoticed) {
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(sandbox().write_file("file", "aaaa", 0644));
    ASSERT_TRUE(sandbox().mark());
    output_of("printf bbbb >file");
    ASSERT_THAT(changed(), ElementsAre(Pair("file", Kind::kModified))) << "try " << i;
  }
}

TEST_P(Files, ThatChangedComeOutAsTheyAre) {
  ASSERT_TRUE(sandbox().write_file("kept", "first", 0644));
  ASSERT_TRUE(sandbox().mark());
  output_of("mkdir -p a/b; printf 'x\\0y' >a/b/c; : >empty; head -c 5000000 /dev/zero >zeros");
  EXPECT_THAT(packed(),
              UnorderedElementsAre(Pair("a/b/c", std::string("x\0y", 3)), Pair("empty", ""),
                                   Pair("zeros", std::string(5'000'000, '\0'))));
}

TEST_P(Files, ComeOutWithNamesOfAnyBytes) {
  ASSERT_TRUE(sandbox().mark());
  output_of(
      "printf 1 >'a\nb'; printf 2 >\"$(printf '\\377\\376')\"; printf 3 >'-rf *'; "
      "printf 4 >'\xc3\xa4'; printf 5 >\"$(printf '\\033[31m')\"");
  const std::map<std::string, std::string> expected = {{"a\nb", "1"},
                                                       {"\xff\xfe", "2"},
                                                       {"-rf *", "3"},
                                                       {"\xc3\xa4", "4"},
                                                       {"\x1b[31m", "5"}};
  EXPECT_EQ(packed(), expected);
  const auto kinds = changed();
  for (const auto& [name, content] : expected) {
    EXPECT_EQ(kinds.count(name), 1U) << content;
  }
}

TEST_P(Files, ThatAreNoneAreNeverRead) {
  ASSERT_TRUE(sandbox().mark());
  output_of(
      "printf real >real; ln -s /etc/passwd link; ln -s real near; mkfifo fifo; "
      "ln -s / root; ln -s /dev/zero endless; mkdir d; ln -s ../real d/up");
  EXPECT_THAT(packed(), ElementsAre(Pair("real", "real")));
  EXPECT_THAT(changed(), ElementsAre(Pair("real", Kind::kCreated)));
}

TEST_P(Files, ComeOutOnlyAsFarAsIsAskedFor) {
  ASSERT_TRUE(sandbox().mark());
  output_of("for i in 1 2 3 4 5 6 7 8 9; do head -c 100000 /dev/zero >f$i; done");
  std::uint64_t bytes = 0;
  for (const auto& [name, content] : packed(Bytes{350'000})) {
    bytes += content.size();
  }
  EXPECT_LE(bytes, 350'000U);
}

TEST_P(Files, AreStillThereInTheNextRun) {
  output_of("echo one >\"$TMPDIR/kept\"; echo two >kept");
  EXPECT_EQ(output_of("cat \"$TMPDIR/kept\" kept"), "one\ntwo\n");
}

TEST_P(Files, AnErrorOfTheSinkIsPassedOn) {
  ASSERT_TRUE(sandbox().mark());
  output_of("head -c 3000000 /dev/zero >zeros");
  const auto done = sandbox().pack_changes(64_MiB, [](std::string_view) -> Result<void> {
    return Error(ErrorCode::kUnavailable, "the disk is full");
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "the disk is full");
  EXPECT_EQ(output_of("echo on"), "on\n");
}

GB_FOR_EVERY_TIER(Files);

}  // namespace
}  // namespace glovebox::conformance
