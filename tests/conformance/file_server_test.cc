// SPDX-License-Identifier: Apache-2.0
// What a FileClient does in a sandbox.
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "file_server_fixture.h"

namespace glovebox::conformance {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

using Type = FileEntry::Type;

TEST_P(FileServer, WhatIsWrittenIsReadInsideAndOutside) {
  const std::string bytes = binary(3'000'000);
  const FileEntry entry = put("/workspace/a/b/data", bytes, {.mode = 0640});
  EXPECT_EQ(entry.path, "/workspace/a/b/data");
  EXPECT_EQ(entry.type, Type::kFile);
  EXPECT_EQ(entry.size, bytes.size());
  EXPECT_EQ(entry.mode, 0640U);
  EXPECT_TRUE(get("a/b/data") == bytes);
  EXPECT_EQ(guest("wc -c < a/b/data; stat -c %a a/b/data"), "3000000\n640\n");
  EXPECT_THAT(names_below("a/b", 1), ElementsAre("data"));
}

TEST_P(FileServer, ReplacingAFileKeepsItsModeAndAppendingItsContent) {
  put("file", "one", {.mode = 0600});
  put("file", "two", {.mode = 0644});
  EXPECT_EQ(get("file"), "two");
  EXPECT_EQ(files().stat("file")->mode, 0600U);
  put("file", " three", {.append = true, .flush = true});
  put("file", "", {.append = true});
  EXPECT_EQ(get("file"), "two three");
  put("new", "x", {.append = true});
  EXPECT_EQ(get("new"), "x");
  put("file", "", {.flush = true});
  EXPECT_EQ(get("file"), "");
}

TEST_P(FileServer, WritingToALinkWritesToWhereItLeads) {
  files();
  guest("mkdir d; echo old > d/target; ln -s d/target link; ln -s d/missing dangling; ln -s l l");
  put("link", "new");
  put("dangling", "made");
  EXPECT_EQ(guest("cat d/target; echo; cat d/missing; test -L link && echo still"),
            "new\nmadestill\n");
  EXPECT_EQ(code_of(files().write("l", {}, source_of("x"))), ErrorCode::kInvalid);
}

TEST_P(FileServer, WhatIsNoRegularFileIsNeitherReadNorWritten) {
  files();
  guest("mkfifo fifo; mkdir d");
  for (const char* const path : {"fifo", "d", "/dev/null"}) {
    EXPECT_EQ(code_of(files().open(path)), ErrorCode::kInvalid) << path;
    EXPECT_EQ(code_of(files().write(path, {}, source_of("x"))), ErrorCode::kInvalid) << path;
  }
  EXPECT_EQ(code_of(files().write("fifo", {.append = true}, source_of("x"))), ErrorCode::kInvalid);
  EXPECT_EQ(files().stat("fifo")->type, Type::kOther);
}

TEST_P(FileServer, StatTellsOfLinksWhatTheyAreAndWhereTheyLead) {
  put("file", "12345");
  guest("ln -s file to-file; ln -s /nowhere broken; ln -s . to-directory; touch -d @1234.5 file");
  const FileEntry link = *files().stat("/workspace/to-file");
  EXPECT_EQ(link.type, Type::kSymlink);
  EXPECT_EQ(link.target, "/workspace/file");
  EXPECT_EQ(link.target_type, Type::kFile);
  EXPECT_EQ(files().stat("to-directory")->target_type, Type::kDirectory);
  const FileEntry broken = *files().stat("broken");
  EXPECT_EQ(broken.target, "");
  EXPECT_EQ(broken.target_type, Type::kSymlink);
  const FileEntry file = *files().stat("file");
  EXPECT_EQ(file.size, 5U);
  EXPECT_EQ(file.modified_ns, 1'234'500'000'000);
  if (features().own_root) {
    EXPECT_EQ(file.owner, "guest");
    EXPECT_EQ(file.group, "guest");
    EXPECT_EQ(files().stat("/usr")->owner, guest("stat -c %U /usr | tr -d '\\n'"));
  }
  EXPECT_EQ(files().stat("/")->type, Type::kDirectory);
  EXPECT_EQ(files().stat(".")->type, Type::kDirectory);
  EXPECT_EQ(code_of(files().stat("missing")), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(files().stat("file/x")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(files().stat("")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(files().stat(std::string_view("a\0b", 3))), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(files().stat(std::string(300, 'x'))), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(files().stat(std::string(100'000, '/'))), ErrorCode::kInvalid);
}

TEST_P(FileServer, ListGoesAsDeepAsAskedForInLexicalOrderAndFollowsNoLink) {
  put("top/b/two/deep", "");
  put("top/a", "");
  put("top/c", "");
  guest("ln -s b top/link");
  EXPECT_THAT(names_below("top", 1), ElementsAre("a", "b", "c", "link"));
  EXPECT_THAT(names_below("top", 2), ElementsAre("a", "b", "b/two", "c", "link"));
  EXPECT_THAT(names_below("/workspace/top", 9),
              ElementsAre("a", "b", "b/two", "b/two/deep", "c", "link"));
  EXPECT_THAT(names_below("top/link", 1), ElementsAre("two"));
  EXPECT_EQ(code_of(files().list("top/a")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(files().list("missing")), ErrorCode::kNotFound);
}

TEST_P(FileServer, NamesMayHoldAnyByteButSlashAndZero) {
  std::string name;
  for (int byte = 1; byte < 256; ++byte) {
    if (byte != '/') {
      name += static_cast<char>(byte);
    }
  }
  put("odd/" + name, "content");
  EXPECT_EQ(get("odd/" + name), "content");
  EXPECT_THAT(names_below("odd", 1), ElementsAre(name));
  EXPECT_TRUE(files().move("odd/" + name, "odd/\xff\xfe"));
  EXPECT_THAT(names_below("odd", 1), ElementsAre("\xff\xfe"));
  EXPECT_TRUE(files().remove("odd/\xff\xfe"));
  EXPECT_THAT(names_below("odd", 1), IsEmpty());
}

TEST_P(FileServer, MakesDirectoriesWithTheirParentsOnce) {
  EXPECT_EQ(files().make_directory("x/y/z")->type, Type::kDirectory);
  EXPECT_EQ(code_of(files().make_directory("x/y/z")), ErrorCode::kConflict);
  put("x/file", "");
  EXPECT_EQ(code_of(files().make_directory("x/file")), ErrorCode::kConflict);
  EXPECT_EQ(code_of(files().make_directory("x/file/z")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(files().make_directory("/usr/made")), ErrorCode::kRefused);
}

TEST_P(FileServer, MovesFilesAndDirectoriesAlsoToAnotherFileSystem) {
  put("from/deep/file", "moved", {.mode = 0750});
  put("to/old", "replaced");
  guest("ln -s file from/deep/link");
  EXPECT_EQ(files().move("from/deep/file", "to/old")->path, "to/old");
  EXPECT_EQ(get("to/old"), "moved");
  EXPECT_TRUE(files().move("from", "made/on/the/way"));
  EXPECT_EQ(guest("readlink made/on/the/way/deep/link"), "file\n");
  EXPECT_TRUE(files().move("to/old", "made/on/file"));
  const auto moved = files().move("made", "/tmp/made");
  ASSERT_TRUE(moved) << moved.error().message();
  EXPECT_EQ(get("/tmp/made/on/file"), "moved");
  EXPECT_EQ(files().stat("/tmp/made/on/file")->mode, 0750U);
  EXPECT_THAT(names_below("/workspace", 9), ElementsAre("to"));
  EXPECT_THAT(names_below("/tmp", 9),
              ElementsAre("made", "made/on", "made/on/file", "made/on/the", "made/on/the/way",
                          "made/on/the/way/deep", "made/on/the/way/deep/link"));
  EXPECT_EQ(code_of(files().move("missing", "elsewhere/x")), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(files().stat("elsewhere")), ErrorCode::kNotFound);
}

TEST_P(FileServer, RemovesTreesHoweverDeepAndWhatIsNotThere) {
  put("tree/a/b", "");
  put("kept", "");
  guest("ln -s ../kept tree/link; mkfifo tree/fifo");
  // gVisor walks from the top for each of them, and so takes longer with each; where processors are
  // emulated, to start so many programs takes longer than a command may.
  const std::string depth = is_gvisor() ? "200" : features().emulated ? "300" : "900";
  guest("cd tree; for i in $(seq " + depth + "); do mkdir d && cd -P d || exit 1; done; touch end");
  const auto removed = files().remove("tree");
  EXPECT_TRUE(removed) << (removed ? "" : removed.error().message());
  EXPECT_TRUE(files().remove("tree"));
  EXPECT_TRUE(files().remove("tree/a/b"));
  EXPECT_THAT(names_below("/workspace", 9), ElementsAre("kept"));
  EXPECT_EQ(code_of(files().remove(".")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(files().remove("/")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(files().remove("kept/x")), ErrorCode::kInvalid);
  EXPECT_NE(code_of(files().remove("/usr/bin")), ErrorCode::kNotFound);
  EXPECT_EQ(guest("test -x /usr/bin/env && echo still"), "still\n");
}

TEST_P(FileServer, MetadataIsReplacedByEachWriteAndSeenByTheGuest) {
  const FileEntry entry =
      put("file", "x", {.metadata = {{"author", "me"}, {"purpose", std::string("a\0b", 3)}}});
  EXPECT_THAT(entry.metadata,
              UnorderedElementsAre(Pair("author", "me"), Pair("purpose", std::string("a\0b", 3))));
  EXPECT_EQ(guest("python3 -c 'import os; f = os.open(\"file\", 0); "
                  "print(os.getxattr(f, \"user.e2b.author\"))'"),
            "b'me'\n");
  EXPECT_THAT(put("file", "y", {.append = true, .metadata = {{"other", "1"}}}).metadata,
              UnorderedElementsAre(Pair("other", "1")));
  EXPECT_THAT(put("file", "z").metadata, IsEmpty());
  guest("python3 -c 'import os; f = os.open(\"file\", 1); os.setxattr(f, \"user.e2b.k\", b\"v\")'");
  EXPECT_THAT(files().stat("file")->metadata, UnorderedElementsAre(Pair("k", "v")));
  EXPECT_THAT(files().open("file")->entry.metadata, UnorderedElementsAre(Pair("k", "v")));
}

TEST_P(FileServer, AWriteWhoseSourceFailsLeavesWhatWasThere) {
  put("file", "old");
  int calls = 0;
  const auto failed = files().write("file", {}, [&](std::span<char> room) -> Result<std::size_t> {
    if (++calls == 3) {
      return Error(ErrorCode::kUnavailable, "the client vanished");
    }
    return room.size();
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "the client vanished");
  EXPECT_EQ(get("file"), "old");
  EXPECT_THAT(names_below("/workspace", 1), ElementsAre("file"));
}

TEST_P(FileServer, AWriteThatFillsTheDiskLeavesWhatWasThere) {
  make_server({.disk = 8_MiB});
  put("file", "old");
  std::uint64_t sent = 0;
  const auto failed = files().write("file", {}, [&](std::span<char> room) -> Result<std::size_t> {
    sent += room.size();
    return sent > (64U << 20) ? 0 : room.size();
  });
  EXPECT_EQ(code_of(failed), ErrorCode::kExhausted);
  EXPECT_LT(sent, 64U << 20) << "it was told at once";
  EXPECT_EQ(get("file"), "old");
  EXPECT_THAT(names_below("/workspace", 1), ElementsAre("file"));
  put("file", std::string(1U << 20, 'x'));
}

TEST_P(FileServer, ABigFileGoesInAndOutWhole) {
  make_server({.memory = 1024_MiB, .disk = 512_MiB});
  const std::string bytes = binary(200'000'000);
  const auto start = std::chrono::steady_clock::now();
  put("big", bytes);
  const auto written = std::chrono::steady_clock::now();
  const std::string back = get("big");
  const auto read = std::chrono::steady_clock::now();
  EXPECT_TRUE(back == bytes);
  const auto rate = [&](auto from, auto to) {
    return static_cast<double>(bytes.size()) / 1e6 /
           std::chrono::duration<double>(to - from).count();
  };
  std::printf("in %.0f MB/s, out %.0f MB/s\n", rate(start, written), rate(written, read));
}

TEST_P(FileServer, ArchivesHoldFilesDirectoriesAndLinksThereAndBack) {
  using Format = FileClient::ArchiveFormat;
  const std::string bytes = binary(700'000);
  put("in/data", bytes, {.mode = 0755});
  put("in/sub/\xc3\xa4 \xff", "odd");
  put("in/empty/.keep", "");
  guest("ln -s sub/x in/link; mkfifo in/fifo; rm in/empty/.keep");
  int number = 0;
  for (const Format format : {Format::kTar, Format::kTarGzip, Format::kZip}) {
    std::string archive;
    const auto packed = files().pack("in", format, [&](std::string_view piece) -> Result<void> {
      archive += piece;
      return {};
    });
    ASSERT_TRUE(packed) << packed.error().message();
    const std::string out = "out" + std::to_string(++number) + "/deep";
    const auto unpacked = files().unpack(out, source_of(archive, 1000));
    ASSERT_TRUE(unpacked) << unpacked.error().message();
    EXPECT_THAT(names_below(out, 9),
                ElementsAre("data", "empty", "link", "sub", "sub/\xc3\xa4 \xff"));
    EXPECT_TRUE(get(out + "/data") == bytes);
    EXPECT_EQ(files().stat(out + "/data")->mode, 0755U);
    EXPECT_EQ(guest("readlink " + out + "/link"), "sub/x\n");
    ASSERT_TRUE(files().unpack(out, source_of(archive))) << "over what is there";
  }
  EXPECT_EQ(code_of(files().unpack("out", source_of("no archive at all, but some bytes"))),
            ErrorCode::kInvalid);
  EXPECT_EQ(code_of(files().unpack("out", source_of("PK\3\4 and no more"))), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(files().pack("missing", Format::kTar, [](auto) { return Result<void>(); })),
            ErrorCode::kNotFound);
}

TEST_P(FileServer, ConnectsToWhatListensInsideAndToNothingElse) {
  files();
  if (!features().loopback_network) {
    EXPECT_EQ(code_of(files().connect(8080)), ErrorCode::kUnsupported);
    return;
  }
  EXPECT_EQ(code_of(files().connect(8080)), ErrorCode::kUnavailable);
  for (const std::string address : {"127.0.0.1", "::1"}) {
    const std::string family = address == "::1" ? "AF_INET6" : "AF_INET";
    put("serve.py",
        "import socket\n"
        "s = socket.socket(socket." +
            family +
            ")\n"
            "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
            "s.bind(('" +
            address +
            "', 8080))\n"
            "s.listen()\n"
            "open('listening', 'w')\n"
            "c, _ = s.accept()\n"
            "c.sendall(c.recv(100).upper())\n");
    std::thread server([&] { guest("exec python3 serve.py"); });
    // Not by a client of the sandbox: its thread waits for the guest.
    Result<UniqueFd> made = UniqueFd();
    FileClient client = another();  // It may become the connection.
    EXPECT_TRUE(eventually([&] {
      made = client.connect(8080);
      return made.has_value();
    }));
    ASSERT_EQ(::send(made->get(), "hello", 5, 0), 5);
    std::array<char, 16> answer{};
    EXPECT_EQ(::recv(made->get(), answer.data(), answer.size(), 0), 5);
    EXPECT_STREQ(answer.data(), "HELLO");
    server.join();
  }
}

TEST_P(FileServer, APortGivesAndTakesMuchAndSeesEachEnd) {
  files();
  if (!features().loopback_network) {
    return;
  }
  put("serve.py",
      "import socket, hashlib\n"
      "s = socket.create_server(('127.0.0.1', 8081))\n"
      "c, _ = s.accept()\n"
      "c.sendall(b'first')\n"
      "digest = hashlib.sha256()\n"
      "while data := c.recv(65536): digest.update(data)\n"
      "c.sendall(digest.hexdigest().encode() + b'x' * 5_000_000)\n");
  std::thread server([&] { guest("exec python3 serve.py"); });
  FileClient client = another();
  Result<UniqueFd> made = UniqueFd();
  EXPECT_TRUE(eventually([&] {
    made = client.connect(8081);
    return made.has_value();
  }));
  const std::string sent = binary(7UL << 20);
  std::thread writer([&] {
    for (std::string_view left = sent; !left.empty();) {
      const ssize_t put = ::send(made->get(), left.data(), left.size(), MSG_NOSIGNAL);
      ASSERT_GT(put, 0);
      left.remove_prefix(static_cast<std::size_t>(put));
    }
    ASSERT_EQ(::shutdown(made->get(), SHUT_WR), 0);
  });
  std::string got;
  std::array<char, 64UL * 1024> block;
  for (ssize_t size = 0; (size = ::recv(made->get(), block.data(), block.size(), 0)) > 0;) {
    got.append(block.data(), static_cast<std::size_t>(size));
  }
  writer.join();
  server.join();
  put("sent", sent);
  EXPECT_EQ(got.substr(0, 5 + 64), "first" + guest("sha256sum sent").substr(0, 64));
  EXPECT_EQ(got.size(), 5U + 64 + 5'000'000);
}

TEST_P(FileServer, AFileIsReadByPieces) {
  put("file", "0123456789");
  const auto file = files().open("file");
  ASSERT_TRUE(file);
  std::string got;
  const auto sink = [&got](std::string_view piece) {
    got += piece;
    return Result<void>();
  };
  EXPECT_EQ(files().read(*file, 2, 3, sink).value(), 3U);
  EXPECT_EQ(got, "234");
  EXPECT_EQ(files().read(*file, 8, 100, sink).value(), 2U);
  EXPECT_EQ(files().read(*file, 100, 1, sink).value(), 0U);
  EXPECT_EQ(got, "23489");
  put("file", "other");
  got.clear();
  EXPECT_EQ(files().read(*file, 0, 100, sink).value(), 10U) << "it is another file now";
  EXPECT_EQ(got, "0123456789");
}

TEST_P(FileServer, ReadsNoMoreForWhoWantsNoMore) {
  put("file", binary(3UL << 20));
  FileClient client = another();
  const auto file = client.open("file");
  ASSERT_TRUE(file);
  const auto refused = client.read(*file, 0, 3UL << 20, [](std::string_view) -> Result<void> {
    return Error(ErrorCode::kConflict, "enough");
  });
  EXPECT_EQ(code_of(refused), ErrorCode::kConflict);
  EXPECT_EQ(files().stat("file")->size, 3U << 20U);
}

// Changes while a script runs, until the file `end` was made.
class FileWatch : public FileServer {
 protected:
  std::vector<FileEvent> changes(const std::string& path,
                                 bool recursive,
                                 const std::function<void()>& act) {
    std::vector<FileEvent> events;
    FileClient watcher = another();
    std::thread actor;
    const auto watched = watcher.watch(
        path, recursive, -1, [&] { actor = std::thread(act); },
        [&](const FileEvent& event) {
          events.push_back(event);
          return event.name != "end";
        });
    EXPECT_TRUE(watched) << watched.error().message();
    if (actor.joinable()) {
      actor.join();
    }
    EXPECT_TRUE(watcher.stat(path)) << "the connection serves on";
    return events;
  }

  static FileEvent event(FileEvent::Kind kind, std::string name) { return {kind, std::move(name)}; }
};

using Kind = FileEvent::Kind;

TEST_P(FileWatch, TellsWhatAGuestAndAClientDoToFiles) {
  mkdir("w");
  put("w/old", "");
  const auto act = [&] {
    guest("cd w; echo a > made; chmod 600 made; mv made moved; rm moved");
    put("w/new", "content");
    put("w/old", "other content");
    put("w/end", "");
  };
  EXPECT_THAT(changes("w", false, act),
              ElementsAre(event(Kind::kCreate, "made"), event(Kind::kWrite, "made"),
                          event(Kind::kChmod, "made"), event(Kind::kRename, "made"),
                          event(Kind::kCreate, "moved"), event(Kind::kRemove, "moved"),
                          event(Kind::kCreate, "new"), event(Kind::kWrite, "new"),
                          event(Kind::kWrite, "old"), event(Kind::kCreate, "end")));
}

TEST_P(FileWatch, SeesOnlyTheDirectoryItselfUnlessItIsRecursive) {
  put("w/sub/file", "");
  const auto act = [&] {
    put("w/sub/file", "more");
    mkdir("w/later/below");
    put("w/later/below/file", "x");
    guest("mv w/later w/renamed; echo y >> w/renamed/below/file");
    put("w/end", "");
  };
  EXPECT_THAT(changes("w", false, act),
              ElementsAre(event(Kind::kCreate, "later"), event(Kind::kRename, "later"),
                          event(Kind::kCreate, "renamed"), event(Kind::kCreate, "end")));
  ASSERT_TRUE(files().remove("w/end"));
  ASSERT_TRUE(files().remove("w/renamed"));
  const std::vector<FileEvent> events = changes("w", true, act);
  for (const FileEvent& expected :
       {event(Kind::kWrite, "sub/file"), event(Kind::kCreate, "later"),
        event(Kind::kCreate, "later/below"), event(Kind::kCreate, "later/below/file"),
        event(Kind::kWrite, "later/below/file"), event(Kind::kRename, "later"),
        event(Kind::kCreate, "renamed"), event(Kind::kWrite, "renamed/below/file")}) {
    EXPECT_THAT(events, Contains(expected)) << expected.name;
  }
}

TEST_P(FileWatch, MissesNothingInADirectoryThatGrowsAtOnce) {
  mkdir("w");
  const auto act = [&] {
    guest("for i in 1 2 3 4 5 6 7 8 9; do mkdir -p w/$i/a/b/c && echo x > w/$i/a/b/c/file; done");
    put("w/end", "");
  };
  const std::vector<FileEvent> events = changes("w", true, act);
  for (int i = 1; i <= 9; ++i) {
    const std::string deep = std::to_string(i) + "/a/b/c";
    EXPECT_THAT(events, Contains(event(Kind::kCreate, deep)));
    EXPECT_THAT(events, Contains(event(Kind::kCreate, deep + "/file")));
    EXPECT_THAT(events, Contains(event(Kind::kWrite, deep + "/file")));
  }
}

TEST_P(FileWatch, EndsWhenItIsStoppedAndWhenTheDirectoryGoes) {
  mkdir("w");
  const UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  FileClient watcher = another();
  const auto never = [](const FileEvent&) { return true; };
  EXPECT_TRUE(watcher.watch(
      "w", true, stop.get(), [&] { ::eventfd_write(stop.get(), 1); }, never));
  const auto gone = watcher.watch(
      "w", true, -1, [&] { (void)files().remove("w"); }, never);
  EXPECT_EQ(code_of(gone), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(watcher.watch(
                "w", true, -1, [] {}, never)),
            ErrorCode::kNotFound);
  put("file", "");
  EXPECT_EQ(code_of(watcher.watch(
                "file", false, -1, [] {}, never)),
            ErrorCode::kInvalid);
}

// Where guests may not watch files.
class FilesUnwatched : public FileServer {};

TEST_P(FilesUnwatched, AreSaidToBeSo) {
  EXPECT_EQ(code_of(files().watch(
                ".", false, -1, [] {}, [](const FileEvent&) { return true; })),
            ErrorCode::kUnsupported);
}

// Where guests see each other.
class FileServerProcess : public FileServer {};

TEST_P(FileServerProcess, AServerEndsWithItsConnection) {
  files();
  const auto count = [&] {
    return guest(
        "n=0; for p in /proc/[0-9]*/comm; do read c < $p 2>/dev/null && "
        "[ \"$c\" = glovebox-files ] && n=$((n+1)); done; echo $n");
  };
  EXPECT_EQ(count(), "1\n");
  {
    FileClient second = another();
    EXPECT_TRUE(second.stat("."));
    EXPECT_EQ(count(), "2\n");
  }
  EXPECT_TRUE(eventually([&] { return count() == "1\n"; }));
}

GB_FOR_EVERY_TIER(FileServer);
const auto kName = [](const auto& tier) { return tier.param; };
INSTANTIATE_TEST_SUITE_P(Tiers, FileWatch, testing::Values("native"), kName);
INSTANTIATE_TEST_SUITE_P(Tiers, FileServerProcess, testing::Values("native"), kName);
INSTANTIATE_TEST_SUITE_P(Tiers, FilesUnwatched, testing::Values("landlock"), kName);

}  // namespace
}  // namespace glovebox::conformance
