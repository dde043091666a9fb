// SPDX-License-Identifier: Apache-2.0
// What guests do against a file server, and what a file server does that is not ours any more.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "base/frame.h"
#include "base/sys/descriptors.h"
#include "base/wire.h"
#include "file_server_fixture.h"
#include "files/connection.h"
#include "files/protocol.h"

namespace glovebox::conformance {
namespace {

using files::Reply;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class FileAttacks : public FileServer {};

TEST_P(FileAttacks, ALinkLeadsToTheFilesOfTheSandboxOnly) {
  files();
  guest("ln -s /etc/passwd link; ln -s /proc/1/root/etc/passwd other; ln -s / root");
  if (features().own_root) {
    EXPECT_THAT(get("link"), HasSubstr("guest:x:"));
    EXPECT_THAT(get("root/etc/passwd"), HasSubstr("guest:x:"));
  } else {
    EXPECT_EQ(code_of(files().open("link")), ErrorCode::kRefused);
    EXPECT_EQ(code_of(files().open("root/etc/passwd")), ErrorCode::kRefused);
  }
  EXPECT_EQ(code_of(files().write("link", {}, source_of("x"))), ErrorCode::kRefused);
  EXPECT_FALSE(files().open("other"));
  EXPECT_TRUE(files().remove("root"));
  EXPECT_EQ(guest("test -e /etc/alternatives && test -e /usr/bin/env && echo there"), "there\n");
}

TEST_P(FileAttacks, RemovingFollowsNoDirectoryThatIsSwappedForALink) {
  mkdir("kept");
  for (int i = 0; i < 20; ++i) {
    put("kept/" + std::to_string(i), "");
  }
  // As often as it goes: what is a directory at one look is a link at the next.
  FileClient remover = another();
  std::atomic<bool> swapping = true;
  std::thread guests([&] {
    guest(R"(python3 -c '
import os
for _ in range(150):
    for call, names in ((os.makedirs, ["t/d/x"]), (os.rename, ["t/d", "t/e"]),
                        (os.symlink, ["../kept", "t/d"]), (os.rename, ["t/e", "t/f"]),
                        (os.remove, ["t/d"])):
        try: call(*names)
        except OSError: pass
')");
    swapping = false;
  });
  while (swapping) {
    (void)remover.remove("t");
  }
  guests.join();
  EXPECT_EQ(names_below("kept", 1).size(), 20U);
}

// An archive with one entry of each name, of which those that name a target are links to it.
std::string archive_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string bytes(1U << 20, '\0');
  std::size_t used = 0;
  struct archive* const writer = ::archive_write_new();
  ::archive_write_set_format_ustar(writer);
  ::archive_write_open_memory(writer, bytes.data(), bytes.size(), &used);
  for (const auto& [name, target] : entries) {
    struct archive_entry* const entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, name.c_str());
    ::archive_entry_set_perm(entry, 0644);
    ::archive_entry_set_filetype(entry, target.empty() ? AE_IFREG : AE_IFLNK);
    ::archive_entry_set_size(entry, target.empty() ? 4 : 0);
    if (!target.empty()) {
      ::archive_entry_set_symlink(entry, target.c_str());
    }
    EXPECT_EQ(::archive_write_header(writer, entry), ARCHIVE_OK);
    if (target.empty()) {
      EXPECT_EQ(::archive_write_data(writer, "evil", 4), 4);
    }
    ::archive_entry_free(entry);
  }
  ::archive_write_close(writer);
  ::archive_write_free(writer);
  bytes.resize(used);
  return bytes;
}

TEST_P(FileAttacks, AnArchiveWritesBelowItsDirectoryOnly) {
  put("outside/file", "good");
  using Entries = std::vector<std::pair<std::string, std::string>>;
  const std::vector<Entries> hostile = {
      {{"../outside/file", ""}},
      {{"a/../../outside/file", ""}},
      {{"/workspace/outside/file", ""}},
      {{"link", "../outside"}, {"link/file", ""}},
      {{"link", "/workspace/outside"}, {"link/new", ""}},
  };
  for (const Entries& entries : hostile) {
    EXPECT_EQ(code_of(files().unpack("in", source_of(archive_of(entries)))), ErrorCode::kInvalid)
        << entries.back().first;
  }
  // A link in the place of a file is replaced, not written through.
  guest("ln -sf ../outside/file in/plain");
  EXPECT_TRUE(files().unpack("in", source_of(archive_of({{"plain", ""}}))));
  EXPECT_EQ(get("in/plain"), "evil");
  EXPECT_EQ(get("outside/file"), "good");
  EXPECT_THAT(names_below("outside", 1), ElementsAre("file"));
}

TEST_P(FileAttacks, ATerminalOfTheGuestsSendsTheServerNoSignals) {
  if (!features().own_root) {
    return;  // It has none (terminals_test.cc).
  }
  files();
  // A terminal that controls nobody yet, at which somebody presses Ctrl-C, Ctrl-\\, and hangs up.
  const auto holder = server_sandbox().run({.argv = {"python3", "-c",
                                                     "import os, pty\n"
                                                     "main, other = pty.openpty()\n"
                                                     "if os.fork(): os._exit(0)\n"
                                                     "while not os.path.exists('go'): pass\n"
                                                     "os.write(main, b'\\x03\\x1c')\n"
                                                     "os.close(main)\n"
                                                     "open('done', 'w')\n"},
                                            .env = {},
                                            .cwd = {}},
                                           {.limits = {}, .kill_rest = false});
  ASSERT_TRUE(holder && holder->exit_code == 0);
  EXPECT_TRUE(files().stat("/dev/pts/0"));
  EXPECT_EQ(code_of(files().open("/dev/pts/0")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(files().write("/dev/pts/0", {.append = true}, source_of("x"))),
            ErrorCode::kInvalid);
  EXPECT_TRUE(files().pack("/dev/pts", FileClient::ArchiveFormat::kZip,
                           [](std::string_view) { return Result<void>(); }));
  put("go", "");
  EXPECT_TRUE(eventually([this] { return files().stat("done").has_value(); }));
  EXPECT_EQ(get("go"), "");
}

// A server of the test's own: it answers what a guest would that took the place of ours.
class HostileServer {
 public:
  HostileServer() {
    std::array<int, 2> pair{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    server_ = UniqueFd(pair[0]);
    client_ = std::make_unique<FileClient>(UniqueFd(pair[1]));
  }
  FileClient& client() { return *client_; }
  void end_client() { client_.reset(); }
  [[nodiscard]] int fd() const { return server_.get(); }

  // Says it before it is asked, which a client cannot tell from an answer.
  void say(Reply type, std::string_view payload, std::vector<int> descriptors = {}) const {
    std::string bytes;
    append_frame(bytes, static_cast<std::uint8_t>(type), 0, payload);
    raw(bytes, std::move(descriptors));
  }
  void raw(std::string_view bytes, std::vector<int> descriptors = {}) const {
    EXPECT_EQ(sys::send_with(server_.get(), bytes, descriptors, 0),
              static_cast<ssize_t>(bytes.size()));
  }

  // A connection about which something was wrong is not used again.
  void expect_given_up() { EXPECT_EQ(code_of(client_->stat("x")), ErrorCode::kUnavailable); }

 private:
  UniqueFd server_;
  std::unique_ptr<FileClient> client_;
};

std::string plain_facts() { return files::encode_facts({}); }

TEST(HostileFileServer, GarbledAnswersEndTheConnection) {
  WireWriter many;
  many.text("");
  many.u8(0);
  many.u64(1);
  many.u32(0644);
  many.text("o");
  many.text("g");
  many.u64(0);
  many.text("");
  many.u8(0);
  many.u32(0xffffffff);
  FileEntry named;
  named.path = "not/asked/for";
  const std::vector<std::pair<Reply, std::string>> answers = {
      {Reply::kEntry, ""},
      {Reply::kEntry, many.take()},
      {Reply::kEntry, plain_facts() + "x"},
      {Reply::kEntry, files::encode_facts(named)},
      {Reply::kDone, ""},
      {Reply::kEntries, ""},
      {Reply::kFailed, ""},
      {Reply::kFailed, std::string("\xff\0\0\0\0", 5)},
      {static_cast<Reply>(200), ""},
  };
  for (const auto& [type, payload] : answers) {
    HostileServer server;
    server.say(type, payload);
    EXPECT_FALSE(server.client().stat("x"));
    server.expect_given_up();
  }
  HostileServer server;
  server.raw(std::string_view("\xff\xff\xff\x7f\1\0\0\0\0", kFrameHeaderSize));
  EXPECT_FALSE(server.client().stat("x"));
  server.expect_given_up();
}

TEST(HostileFileServer, AListIsBoundedAndStaysBelowWhatWasAskedFor) {
  for (const std::string path : {"../up", "/etc", "a//b", "", "a/./b", "a/.."}) {
    HostileServer server;
    FileEntry entry;
    entry.path = path;
    WireWriter list;
    files::put_listed(list, entry);
    server.say(Reply::kEntries, list.take());
    EXPECT_FALSE(server.client().list("x")) << path;
    server.expect_given_up();
  }
  HostileServer endless;
  WireWriter list;
  FileEntry entry;
  entry.path = std::string(1000, 'x');
  for (int i = 0; i < 1000; ++i) {
    files::put_listed(list, entry);
  }
  std::string frame;
  append_frame(frame, static_cast<std::uint8_t>(Reply::kEntries), 0, list.take());
  std::thread talker([&] {
    while (::send(endless.fd(), frame.data(), frame.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  EXPECT_EQ(code_of(endless.client().list("x")), ErrorCode::kExhausted);
  talker.join();
}

TEST(HostileFileServer, WhatItPassesMustBeAFileThatHoldsData) {
  std::array<int, 2> pipe{};
  std::array<int, 2> pair{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  std::vector<UniqueFd> wrong;
  for (const int fd : {pipe[0], pipe[1], pair[0], pair[1]}) {
    wrong.emplace_back(fd);
  }
  for (const char* const path : {"/proc/self/mem", "/proc/version", "/sys/kernel/notes"}) {
    wrong.emplace_back(::open(path, O_RDONLY | O_CLOEXEC));
  }
  wrong.emplace_back(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  wrong.emplace_back(::open("/usr", O_RDONLY | O_CLOEXEC));
  wrong.emplace_back(::open("/proc/self/exe", O_PATH | O_CLOEXEC));
  wrong.emplace_back(::open(testing::TempDir().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  for (const UniqueFd& fd : wrong) {
    ASSERT_TRUE(fd);
    HostileServer server;
    server.say(Reply::kDescriptor, plain_facts(), {fd.get()});
    EXPECT_EQ(code_of(server.client().open("x")), ErrorCode::kRefused) << fd.get();
    server.expect_given_up();
  }
  const UniqueFd file = file_with("content");
  HostileServer honest;
  honest.say(Reply::kDescriptor, plain_facts(), {file.get()});
  const auto opened = honest.client().open("x");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->entry.size, 7U) << "what the file says counts, not the server";
  HostileServer none;
  none.say(Reply::kDescriptor, plain_facts());
  EXPECT_FALSE(none.client().open("x"));
  HostileServer two;
  two.say(Reply::kDescriptor, plain_facts(), {file.get(), file.get()});
  EXPECT_FALSE(two.client().open("x"));
  two.expect_given_up();
}

TEST(HostileFileServer, WhatItPassesMustBeAConnection) {
  const auto refused = [](int fd) {
    HostileServer server;
    server.say(Reply::kDescriptor, "", {fd});
    EXPECT_EQ(code_of(server.client().connect(80)), ErrorCode::kRefused);
    server.expect_given_up();
  };
  // What is refused is disconnected, and the socket is the same in all its copies: each its own.
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const auto listen = [&] {
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    return listener;
  };
  refused(UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)).get());
  refused(listen().get());
  refused(UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)).get());
  refused(UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)).get());
  refused(file_with("").get());

  const UniqueFd listener = listen();
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const UniqueFd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(made.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  HostileServer honest;
  honest.say(Reply::kDescriptor, "", {made.get()});
  EXPECT_TRUE(honest.client().connect(80));
}

TEST(HostileFileServer, ContentInFramesIsNoMoreThanWasAskedFor) {
  HostileServer server;
  server.say(Reply::kEntry, plain_facts());
  const auto file = server.client().open("x");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->fd);
  server.say(Reply::kData, "123456");
  std::string got;
  EXPECT_FALSE(server.client().read(*file, 0, 5, [&got](std::string_view piece) {
    got += piece;
    return Result<void>();
  }));
  EXPECT_EQ(got, "");
  server.expect_given_up();
}

TEST(HostileFileServer, APortInFramesBeginsWithNothingThatCameBefore) {
  HostileServer server;
  server.say(Reply::kDone, "");
  server.say(Reply::kData, "before it was asked for");
  EXPECT_FALSE(server.client().connect(80));
  server.expect_given_up();
  HostileServer honest;
  honest.say(Reply::kDone, "");
  EXPECT_TRUE(honest.client().connect(80));
  EXPECT_FALSE(honest.client().stat("x")) << "the client has no connection any more";
}

TEST(HostileFileServer, DescriptorsThatNobodyAskedForAreClosed) {
  const UniqueFd file = file_with("");
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const UniqueFd reader(pipe[0]);
  UniqueFd writer(pipe[1]);
  HostileServer server;
  server.say(Reply::kEntry, plain_facts(), std::vector<int>(200, writer.get()));
  server.say(Reply::kEntry, plain_facts(), {writer.get()});
  writer.reset();
  EXPECT_FALSE(server.client().stat("x"));
  server.end_client();
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0) << "a writer is still open somewhere";
}

TEST(HostileFileServer, EventsStayBelowWhatIsWatched) {
  for (const std::string name : {"../up", "/etc", ""}) {
    HostileServer server;
    server.say(Reply::kStarted, "");
    WireWriter events;
    files::put_event(events, {FileEvent::Kind::kCreate, name});
    server.say(Reply::kEvents, events.take());
    int told = 0;
    EXPECT_FALSE(server.client().watch(
        "x", true, -1, [] {}, [&](const FileEvent&) { return ++told < 100; }));
    EXPECT_EQ(told, 0);
  }
}

TEST(HostileFileServer, AWatchIsStoppedInTheMiddleOfChangesWithoutEnd) {
  HostileServer server;
  server.say(Reply::kStarted, "");
  WireWriter events;
  files::put_event(events, {FileEvent::Kind::kWrite, "x"});
  std::string frames;
  append_frame(frames, static_cast<std::uint8_t>(Reply::kEvents), 0, events.take());
  append_frame(frames, static_cast<std::uint8_t>(Reply::kWorking), 0, "");
  std::thread talker([&] {
    for (int i = 0; i < 1000; ++i) {
      server.raw(frames);
    }
    server.say(Reply::kDone, "");
  });
  const UniqueFd stop(::eventfd(1, EFD_CLOEXEC));
  int told = 0;
  EXPECT_TRUE(server.client().watch(
      ".", true, stop.get(), [] {}, [&](const FileEvent&) { return ++told > 0; }));
  EXPECT_LT(told, 1000);
  talker.join();
}

TEST(HostileFileServer, AnAnswerInTheMiddleOfAnUploadEndsIt) {
  HostileServer refusing;
  refusing.say(Reply::kFailed, files::Failure{ErrorCode::kExhausted, "full"}.encode());
  std::size_t asked = 0;
  const auto source = [&](std::span<char>) -> Result<std::size_t> {
    ++asked;
    return 1;
  };
  EXPECT_EQ(code_of(refusing.client().write("x", {}, source)), ErrorCode::kExhausted);
  EXPECT_EQ(asked, 1U);
  HostileServer early;
  early.say(Reply::kEntry, plain_facts());
  EXPECT_FALSE(early.client().write("x", {}, source));
  early.expect_given_up();
}

TEST(HostileFileServer, OneThatDoesNothingIsNotWaitedForForever) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const UniqueFd server(pair[0]);
  files::Connection connection{UniqueFd(pair[1]), std::chrono::milliseconds(20)};
  // It says so far nothing, then half of something.
  ASSERT_TRUE(connection.ask(files::Request::kStat, {.path = "x"}));
  ASSERT_EQ(::send(server.get(), "\1\0", 2, 0), 2);
  EXPECT_EQ(code_of(connection.receive()), ErrorCode::kUnavailable);
  EXPECT_EQ(code_of(connection.ask(files::Request::kStat, {.path = "x"})), ErrorCode::kUnavailable);
}

TEST(HostileFileServer, OneThatReadsNothingIsNotWaitedForForever) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const UniqueFd server(pair[0]);
  files::Connection connection{UniqueFd(pair[1]), std::chrono::milliseconds(20)};
  const std::string piece(files::kPiece, 'x');
  auto sent = connection.send(files::Request::kData, piece);
  for (int i = 0; sent && i < 100; ++i) {
    sent = connection.send(files::Request::kData, piece);
  }
  EXPECT_EQ(code_of(sent), ErrorCode::kUnavailable);
}

GB_FOR_EVERY_TIER(FileAttacks);

}  // namespace
}  // namespace glovebox::conformance
