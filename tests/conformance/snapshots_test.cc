// SPDX-License-Identifier: Apache-2.0
// Workspaces that are made again what they were.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fixture.h"

namespace glovebox::conformance {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Kind = FileChange::Kind;

// Everything that a restore has to bring back, one line a file: type, mode, size, modification
// time, name, target, and the sums of all contents.
constexpr const char* kDescribe =
    "find . -type d -printf '%y %m - %T@ %p\\n' -o -type l -printf '%y - - - %p -> %l\\n' "
    "-o -printf '%y %m %s %T@ %p\\n' | sort; "
    "find . -type f -readable -exec cksum {} + | sort";

class Snapshots : public Conformance {
 protected:
  std::string described() { return output_of(kDescribe); }

  void take(std::uint32_t id) {
    const auto done = sandbox().snapshot(id);
    ASSERT_TRUE(done) << done.error().message();
  }
  void restore(std::uint32_t id) {
    const auto done = sandbox().restore(id);
    ASSERT_TRUE(done) << done.error().message();
  }
  void drop(std::uint32_t id) {
    const auto done = sandbox().drop_snapshot(id);
    ASSERT_TRUE(done) << done.error().message();
  }

  // Bytes of the sandbox's disk in use.
  std::uint64_t disk_used() { return sh(":").usage.disk.count; }

  // Path -> kind of what changed since the mark.
  std::map<std::string, Kind> changed() {
    std::map<std::string, Kind> kinds;
    auto changes = sandbox().changed_files();
    if (!changes) {
      ADD_FAILURE() << changes.error().message();
      return kinds;
    }
    for (const FileChange& file : changes->files) {
      kinds[file.path] = file.kind;
    }
    return kinds;
  }

  // What differs from the first one: kind, path, and of files their sizes now and then.
  std::vector<std::string> differences() {
    std::vector<std::string> lines;
    auto found = sandbox().compare(1);
    if (!found) {
      ADD_FAILURE() << found.error().message();
      return lines;
    }
    EXPECT_FALSE(found->truncated);
    for (const FileDifference& each : found->files) {
      lines.push_back(
          (each.kind == FileDifference::Kind::kAdded      ? "added "
           : each.kind == FileDifference::Kind::kModified ? "modified "
                                                          : "deleted ") +
          each.path +
          (each.type == FileDifference::Type::kFile
               ? " " + std::to_string(each.size) + " " + std::to_string(each.size_before)
               : ""));
    }
    return lines;
  }

  std::optional<std::string> version(const std::string& path, Sandbox::Version which) {
    const auto read = sandbox().read_version(1, path, which, 1024);
    EXPECT_TRUE(read) << path;
    return read ? *read : std::nullopt;
  }

  void make_files() {
    output_of(
        "mkdir -p a/b/c empty; printf one >a/one; printf two >a/b/two; : >a/b/c/none; "
        "head -c 300000 /dev/urandom >large; ln -s a/one link; ln -s /nowhere dangling; "
        "ln -s a/b below; chmod 600 a/one; chmod 750 large; chmod 700 empty; printf '#!/bin/sh\n' "
        ">run; chmod 755 run; touch -d '2001-02-03 04:05:06.789' a/b/two a/b; "
        "truncate -s 10M sparse; printf x | dd of=sparse bs=1 seek=5000000 conv=notrunc "
        "status=none");
  }
};

TEST_P(Snapshots, BringBackEveryByteModeAndTime) {
  make_files();
  const std::string before = described();
  take(1);
  output_of(
      "printf ONE >a/one; printf more >>large; rm -r a/b; : >new; mkdir -p fresh/deep; "
      ": >fresh/deep/file; chmod 777 run empty; printf y | dd of=sparse bs=1 conv=notrunc "
      "status=none");
  EXPECT_NE(described(), before);

  restore(1);

  EXPECT_EQ(described(), before);
}

TEST_P(Snapshots, TellWhatDiffersFromThem) {
  make_files();
  take(1);
  EXPECT_THAT(differences(), IsEmpty());
  output_of(
      "printf ONE >a/one; rm -r a/b; printf 12345 >new; chmod 700 run; ln -sfn a dangling; "
      "rm sparse; mkdir sparse");
  EXPECT_THAT(differences(),
              testing::ElementsAre("deleted a/b", "deleted a/b/c", "deleted a/b/c/none 0 0",
                                   "deleted a/b/two 0 3", "modified a/one 3 3", "modified dangling",
                                   "added new 5 0", testing::StartsWith("modified run"),
                                   "deleted sparse 0 10485760", "added sparse"));
  restore(1);
  EXPECT_THAT(differences(), IsEmpty());
}

TEST_P(Snapshots, HoldWhatFilesAndLinksWere) {
  make_files();
  take(1);
  output_of("printf changed >a/one; ln -sfn new link; rm a/b/two");
  using Version = Sandbox::Version;
  EXPECT_EQ(version("a/one", Version::kThen), "one");
  EXPECT_EQ(version("a/one", Version::kNow), "changed");
  EXPECT_EQ(version("link", Version::kThen), "a/one");
  EXPECT_EQ(version("link", Version::kNow), "new");
  EXPECT_EQ(version("a/b/two", Version::kThen), "two");
  for (const char* const nothing :
       {"a/b/two", "a", "none", "../etc/passwd", "/etc/passwd", "link/x", "sparse", ""}) {
    EXPECT_EQ(version(nothing, Version::kNow), std::nullopt) << nothing;
  }
  EXPECT_EQ(version("sparse", Version::kThen), std::nullopt);
  EXPECT_EQ(version("", Version::kThen), std::nullopt);
}

TEST_P(Snapshots, ChangeNothingWhereNothingChanged) {
  make_files();
  const std::string before = output_of("stat -c '%n %i %z' $(find .)");
  take(1);
  restore(1);
  EXPECT_EQ(output_of("stat -c '%n %i %z' $(find .)"), before);
}

TEST_P(Snapshots, UndoWhateverWasPutInTheWay) {
  const std::array<const char*, 14> kWays = {
      "rm a/one",
      "mv a/one a/two",
      "mv a elsewhere",
      "rm a/one; mkdir a/one; : >a/one/inside",
      "rm a/one; ln -s /etc/passwd a/one",
      "rm a/one; mkfifo a/one",
      "rm -r a/b; printf file >a/b",
      "rm -r a/b; ln -s / a/b",
      "rm link; printf file >link",
      "rm link; mkdir link",
      "ln -sfn /elsewhere link",
      "printf same >a/new && mv a/new a/one",
      "mv large swap; mv a/one large; mv swap a/one",
      "rm -rf * ; mkdir large a",
  };
  make_files();
  const std::string before = described();
  take(1);
  for (const char* const way : kWays) {
    output_of(way);
    EXPECT_NE(described(), before) << way;
    restore(1);
    EXPECT_EQ(described(), before) << way;
  }
}

TEST_P(Snapshots, AreRestoredInAnyOrder) {
  std::array<std::string, 4> states;
  for (std::uint32_t i = 0; i < states.size(); ++i) {
    output_of("rm -rf only*; printf " + std::to_string(i) + " >same; mkdir only" +
              std::to_string(i) + "; head -c 50000 /dev/urandom >only" + std::to_string(i) +
              "/file; head -c 9000 /dev/urandom >rewritten");
    states[i] = described();
    take(i);
  }
  for (const std::uint32_t i : {0U, 3U, 1U, 1U, 2U, 0U, 3U, 2U}) {
    restore(i);
    EXPECT_EQ(described(), states[i]) << i;
  }
  // The others do not need the one that was there first.
  drop(0);
  drop(2);
  for (const std::uint32_t i : {1U, 3U, 1U}) {
    restore(i);
    EXPECT_EQ(described(), states[i]) << i;
  }
  EXPECT_FALSE(sandbox().restore(0));
}

TEST_P(Snapshots, SeeAFileThatChangedAtOnceAndKeptItsSizeAndTime) {
  for (int i = 0; i < 20; ++i) {
    output_of("printf aaaa >file; touch -d 2020-01-01 file");
    take(1);
    output_of("printf bbbb >file; touch -d 2020-01-01 file");
    take(2);
    restore(1);
    ASSERT_EQ(output_of("cat file"), "aaaa") << "try " << i;
    restore(2);
    ASSERT_EQ(output_of("cat file"), "bbbb") << "try " << i;
    drop(1);
    drop(2);
  }
}

TEST_P(Snapshots, SeeWhatIsWrittenThroughAMapping) {
  // A write to a page that was read before leaves no new time on tmpfs.
  RunOptions options;
  options.kill_rest = false;
  sh("printf aaaa >file; mkfifo go; python3 -c '\n"
     "import mmap\n"
     "f = open(\"file\", \"r+b\")\n"
     "m = mmap.mmap(f.fileno(), 4)\n"
     "assert m[:] == b\"aaaa\"\n"
     "open(\"ready\", \"w\").close()\n"
     "open(\"go\").read()\n"
     "m[:] = b\"bbbb\"\n"
     "open(\"done\", \"w\").close()\n"
     "open(\"go\").read()\n"
     "' >\"$TMPDIR/errors\" 2>&1 & while ! [ -e ready ]; do :; done; rm ready",
     options);
  take(1);
  sh("echo >go; while ! [ -e done ]; do :; done; rm done", options);
  take(2);
  restore(1);
  EXPECT_EQ(output_of("cat file"), "aaaa");
  restore(2);
  EXPECT_EQ(output_of("cat file"), "bbbb");
}

TEST_P(Snapshots, KeepTheInodeOfAFileSoThatWhoHasItOpenGoesOn) {
  output_of("printf first >log; printf kept >other; ln other name");
  const std::string inodes = output_of("stat -c %i log other name");
  take(1);
  output_of("printf second-and-longer >>log; printf changed >other");
  restore(1);
  EXPECT_EQ(output_of("stat -c %i log other name"), inodes);
  EXPECT_EQ(output_of("cat log other name"), "firstkeptkept");
}

TEST_P(Snapshots, GoOverFilesAndDirectoriesThatTheirOwnerClosed) {
  if (::geteuid() != 0 && GetParam() == "landlock") {
    GTEST_SKIP() << "a guest with the caller's uid may not change modes by name";
  }
  output_of(
      "mkdir d r; printf secret >d/none; printf read >d/read; printf f >r/f; chmod 0 d/none; "
      "chmod 400 d/read; chmod 500 r; chmod 0 d");
  const std::string modes = output_of("stat -c '%n %a %y' d r");
  take(1);
  EXPECT_EQ(output_of("stat -c '%n %a %y' d r"), modes);
  output_of("chmod 700 d r; rm -f d/none d/read r/f; mkdir r/sub; : >r/sub/x; chmod 0 r/sub r");
  restore(1);
  EXPECT_EQ(output_of("stat -c '%n %a %y' d r"), modes);
  EXPECT_EQ(output_of("chmod 700 d; stat -c '%n %a' d/*; chmod 600 d/none; cat d/* r/*"),
            "d/none 0\nd/read 400\nsecretreadf");
}

TEST_P(Snapshots, LeaveSpecialFilesThatAreStillThere) {
  output_of("mkfifo pipe; printf x >file");
  take(1);
  output_of("printf y >file; mkfifo another");
  restore(1);
  EXPECT_EQ(output_of("ls; cat file"), "file\npipe\nx");
}

TEST_P(Snapshots, HoldNamesOfAnyBytesAndAnyLength) {
  output_of(
      "printf 1 >'a\nb'; printf 2 >\"$(printf '\\377\\376')\"; printf 3 >'-rf *'; "
      "printf 4 >$(printf %0255d 0); printf 5 >.removed-0; mkdir .removed-1; ln -s '' x "
      "2>/dev/null; "
      "ln -s \"$(printf %04000d 0)\" far");
  const std::string before = output_of("ls -A; cat -- * .removed-0 2>/dev/null; readlink far");
  take(1);
  output_of("mkdir junk junk/a junk/b; rm -rf -- [!j]* .removed*");
  restore(1);
  EXPECT_EQ(output_of("ls -A; cat -- * .removed-0 2>/dev/null; readlink far"), before);
}

TEST_P(Snapshots, CostNothingForFilesThatDidNotChange) {
  make_with({.disk = 128_MiB});
  if (!features().limits_disk) {
    GTEST_SKIP() << "nothing counts the disk here";
  }
  output_of("head -c 20000000 /dev/urandom >large; printf x >small");
  const std::uint64_t before = disk_used();
  take(1);
  const std::uint64_t first = disk_used();
  EXPECT_GE(first, before + 20'000'000);
  EXPECT_LE(first, before + 20'100'000);
  output_of("printf y >small; chmod 600 large");
  for (std::uint32_t id = 2; id <= 40; ++id) {
    take(id);
  }
  EXPECT_LE(disk_used(), first + 10'000);
  for (std::uint32_t id = 1; id <= 39; ++id) {
    drop(id);
  }
  EXPECT_LE(disk_used(), first + 10'000);
  drop(40);
  EXPECT_LE(disk_used(), before + 10'000);
}

TEST_P(Snapshots, KeepHolesAsHoles) {
  if (is_gvisor()) {
    GTEST_SKIP() << "gVisor's file system in memory does not say where holes are";
  }
  output_of(
      "truncate -s 200M holes; printf x | dd of=holes bs=1 seek=100000000 status=none "
      "conv=notrunc; printf changed >other");
  take(1);
  output_of("rm holes");
  restore(1);
  EXPECT_EQ(output_of("stat -c %s holes; [ $(stat -c %b holes) -lt 1000 ] && echo sparse; "
                      "dd if=holes bs=1 skip=100000000 count=1 status=none"),
            "209715200\nsparse\nx");
}

TEST_P(Snapshots, ThatDoNotFitOnTheDiskLeaveNoTrace) {
  make_with({.disk = 64_MiB});
  if (!features().limits_disk) {
    GTEST_SKIP() << "nothing bounds the disk here";
  }
  output_of("printf first >file");
  take(1);
  output_of("printf second >file; head -c 25000000 /dev/zero >z1; head -c 25000000 /dev/zero >z2");
  const std::string before = described();
  const std::uint64_t used = disk_used();

  const auto done = sandbox().snapshot(2);

  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("No space left"));
  EXPECT_EQ(described(), before);
  EXPECT_LE(disk_used(), used + 10'000);
  EXPECT_FALSE(sandbox().restore(2));
  restore(1);
  EXPECT_EQ(output_of("ls; cat file"), "file\nfirst");
}

TEST_P(Snapshots, ThatFitNoMoreAreRefusedBeforeAnythingChanged) {
  make_with({.disk = 64_MiB});
  if (!features().limits_disk) {
    GTEST_SKIP() << "nothing bounds the disk here";
  }
  output_of("head -c 25000000 /dev/urandom >large; printf first >file");
  take(1);
  output_of("rm large; printf second >file; head -c 30000000 /dev/zero >\"$TMPDIR/in the way\"");
  const std::string before = described();

  const auto done = sandbox().restore(1);

  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("No space left"));
  EXPECT_EQ(described(), before);
  output_of("rm \"$TMPDIR/in the way\"");
  restore(1);
  EXPECT_EQ(output_of("stat -c %s large; cat file"), "25000000\nfirst");
}

TEST_P(Snapshots, FitWhereWhatTheyReplaceGoesFirst) {
  make_with({.disk = 64_MiB});
  output_of("mkdir a; head -c 20000000 /dev/urandom >a/large");
  const std::string before = described();
  take(1);
  output_of("rm a/large; mkdir z; head -c 22000000 /dev/zero >z/in-the-way");
  restore(1);
  EXPECT_EQ(described(), before);
}

TEST_P(Snapshots, AreBoundedInNumber) {
  output_of("printf x >file");
  for (std::uint32_t id = 0; id < warden::kMaxSnapshots; ++id) {
    take(id);
  }
  EXPECT_FALSE(sandbox().snapshot(1000));
  EXPECT_FALSE(sandbox().snapshot(1));
  drop(7);
  EXPECT_FALSE(sandbox().drop_snapshot(7));
  take(1000);
  restore(1000);
}

TEST_P(Snapshots, RefuseTreesThatAreTooDeepAndRemoveThem) {
  output_of("printf x >file");
  take(1);
  // Deeper than a path may be long, and than descriptors would go.
  output_of(
      "exec python3 -c '\n"
      "import os\n"
      "for i in range(3000): os.mkdir(\"d\"); os.chdir(\"d\")\n"
      "open(\"bottom\", \"w\")\n"
      "'");
  const auto done = sandbox().snapshot(2);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("too deep"));
  restore(1);
  EXPECT_EQ(output_of("ls -A"), "file\n");
}

TEST_P(Snapshots, RefuseMoreFilesThanTheBoundAndRemoveThem) {
  make_with({.inodes = 100'000});
  output_of("printf x >file");
  take(1);
  output_of("mkdir many; cd many; seq 66000 | xargs touch");
  const auto done = sandbox().snapshot(2);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("too many files"));
  restore(1);
  EXPECT_EQ(output_of("ls -A"), "file\n");
}

TEST_P(Snapshots, OfTheMarkedStateBringTheMarkBack) {
  output_of("printf one >kept; printf two >file; printf three >gone; printf four >mode");
  ASSERT_TRUE(sandbox().mark());
  take(1);
  output_of("printf 2 >file; rm gone; : >new; chmod 600 mode");
  take(2);
  output_of("printf II >file");
  restore(1);
  EXPECT_THAT(changed(), IsEmpty());
  restore(2);
  const std::map<std::string, Kind> expected = {{"file", Kind::kModified},
                                                {"gone", Kind::kDeleted},
                                                {"new", Kind::kCreated},
                                                {"mode", Kind::kModified}};
  EXPECT_EQ(changed(), expected);
  restore(1);
  EXPECT_THAT(changed(), IsEmpty());
}

TEST_P(Snapshots, AreOutOfReachOfTheGuest) {
  output_of("printf 'needle in the store' >file");
  take(1);
  output_of("printf changed >file");
  EXPECT_EQ(sh("grep -rl 'needle in the store' . \"$TMPDIR\" /run 2>/dev/null").out.bytes, "");
  // The warden's descriptors are the only way to it.
  EXPECT_NE(sh("ls /proc/$PPID/fd/").exit_code, 0);
}

TEST_P(Snapshots, AreNotLedOutsideByADirectoryThatBecomesALink) {
  // Beside the workspace, where the warden could write: what it must not touch. The files of `a`
  // are looked at before `t`, which gives the attacker time.
  output_of(
      "mkdir -p \"$TMPDIR/out/d\"; printf untouched >\"$TMPDIR/out/f\"; printf untouched "
      ">\"$TMPDIR/out/d/f\"; mkdir -p a t/d; printf inside >t/f; printf inside >t/d/f; cd a; "
      "seq 300 | xargs touch");
  take(1);
  RunOptions options;
  options.kill_rest = false;
  // Swaps a directory and a link for each other as fast as the kernel does it.
  sh("exec python3 -c '\n"
     "import ctypes, os\n"
     "if os.fork(): os._exit(0)\n"
     "os.close(1); os.close(2)\n"
     "libc = ctypes.CDLL(None)\n"
     "os.symlink(os.environ[\"TMPDIR\"] + \"/out\", \"l\")\n"
     "n = 0\n"
     "while True:\n"
     "  n += 1\n"
     "  r = libc.renameat2(-100, b\"t\", -100, b\"l\", 2)\n"
     "  if r:\n"
     "    try: os.symlink(os.environ[\"TMPDIR\"] + \"/out\", \"l\")\n"
     "    except OSError: pass\n"
     "  if n % 16 == 0:\n"
     "    try:\n"
     "      d = os.open(\"t\", os.O_DIRECTORY | os.O_NOFOLLOW)\n"
     "      os.unlink(\"d/f\", dir_fd=d)\n"
     "      os.close(os.open(\"new\", os.O_CREAT | os.O_WRONLY, dir_fd=d))\n"
     "      os.close(d)\n"
     "    except OSError: pass\n"
     "'",
     options);
  for (int i = 0; i < 100; ++i) {
    (void)sandbox().restore(1);  // It may find what it cannot undo, but not leave.
  }
  EXPECT_TRUE(sandbox().alive());
  output_of(":");  // Which ends the attacker.
  EXPECT_EQ(output_of("cd \"$TMPDIR/out\"; find . | sort | tr '\\n' ' '; cat f d/f"),
            ". ./d ./d/f ./f untoucheduntouched");
  restore(1);
  EXPECT_EQ(output_of("find . | grep -v /a | sort | tr '\\n' ' '; cat t/f t/d/f"),
            ". ./t ./t/d ./t/d/f ./t/f insideinside");
}

GB_FOR_EVERY_TIER(Snapshots);

}  // namespace
}  // namespace glovebox::conformance
