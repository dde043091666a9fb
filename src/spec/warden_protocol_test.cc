// SPDX-License-Identifier: Apache-2.0
#include "spec/warden_protocol.h"

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/wire.h"

namespace glovebox::warden {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Values that differ from every default and from each other, so that a field that is forgotten or
// swapped shows.
StartRequest some_start() {
  return {.argv = {"python3", "", std::string("a\0b", 3)},
          .env = {"A=1", "B="},
          .cwd = "/workspace",
          .open_files = 11,
          .cpu_seconds = 1ULL << 40,
          .processes = 12,
          .data_size = 1ULL << 41,
          .file_size = 1ULL << 42,
          .deadline_ms = 1ULL << 43,
          .with_stdin = true,
          .streams = Streams::kAgent,
          .relayed = true,
          .terminal = {.columns = 132, .rows = 50},
          .alone = false,
          .filter = std::string("\x00\xff\x01", 3),
          .writes_everywhere = false,
          .writable = {"out/", "report.txt"},
          .reads_everywhere = false,
          .readable = {"src/"},
          .system = {"/usr", "/etc"}};
}

ReadyReport some_ready() {
  return {.protocol = 2,
          .namespaces = {1ULL << 33, 2, 3, 4, 5, 6, 7},
          .seccomp_mode = 21,
          .landlock = 22,
          .uid = 23,
          .no_new_privs = true,
          .no_capabilities = false,
          .capabilities = 1ULL << 40,
          .kernel = "4.4.0 #1"};
}

FilesReport some_files() {
  return {.files = {{"new.txt", 1ULL << 34, FileChange::Kind::kCreated},
                    {"a\nb", 2, FileChange::Kind::kModified},
                    {"gone", 0, FileChange::Kind::kDeleted}},
          .truncated = true};
}

// Claims about every message: it survives the way there and back, and it is refused with a byte
// more, or with any number of bytes less.
template <typename Message>
class MessageTest : public ::testing::Test {};

template <typename Message>
Message some();
template <>
StartRequest some() {
  return some_start();
}
template <>
StreamReport some() {
  return {.stream = Stream::kFromChannel, .bytes = 1U << 31};
}
template <>
SignalRequest some() {
  return {.signal = 15, .everything = true};
}
template <>
WriteRequest some() {
  return {.path = "a/b", .mode = 0755, .bytes = "content"};
}
template <>
MoveInRequest some() {
  return {.filter = std::string("\x00\xff\x01", 3),
          .directories = {"/workspace", "/tmp"},
          .machine_targets = {"/proc/meminfo", "/proc/stat"}};
}
template <>
PackRequest some() {
  return {.changed_only = true, .max_bytes = 1ULL << 35, .path = "out"};
}
template <>
SnapshotRequest some() {
  return {.id = 0xfffffffe, .thorough = true};
}
template <>
VersionRequest some() {
  return {.snapshot = 3, .now = true, .max_bytes = 1U << 18, .path = "a/b"};
}
template <>
DifferencesReport some() {
  return {.files = {{.path = "a\nb",
                     .kind = FileDifference::Kind::kDeleted,
                     .type = FileDifference::Type::kLink,
                     .size = 1ULL << 37,
                     .size_before = 1ULL << 38,
                     .mode = 0755,
                     .mode_before = 04644,
                     .changed_ns = -5}},
          .truncated = true};
}
template <>
ContentReport some() {
  return {.known = true, .bytes = std::string("a\0b", 3)};
}
template <>
ReadyReport some() {
  return some_ready();
}
template <>
EndedReport some() {
  return {.wait_status = -1,
          .start_error = ENOENT,
          .cpu_us = 31,
          .max_rss = 32,
          .deadline = true,
          .disk_used = 1ULL << 36,
          .inodes_used = 1ULL << 33,
          .disk_full = true,
          .inodes_full = true};
}
template <>
DoneReport some() {
  return {.error = "no space", .os_error = 28};
}
template <>
TerminalSize some() {
  return {.columns = 0x1234, .rows = 0x5678};
}
template <>
FilesReport some() {
  return some_files();
}

using Messages = ::testing::Types<StartRequest,
                                  TerminalSize,
                                  StreamReport,
                                  SignalRequest,
                                  WriteRequest,
                                  PackRequest,
                                  SnapshotRequest,
                                  MoveInRequest,
                                  VersionRequest,
                                  DifferencesReport,
                                  ContentReport,
                                  ReadyReport,
                                  EndedReport,
                                  DoneReport,
                                  FilesReport>;
TYPED_TEST_SUITE(MessageTest, Messages);

TYPED_TEST(MessageTest, SurvivesTheWayThereAndBack) {
  const std::string bytes = some<TypeParam>().encode();

  const auto decoded = TypeParam::decode(bytes);

  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->encode(), bytes);
}

TYPED_TEST(MessageTest, RefusesEveryTruncation) {
  const std::string bytes = some<TypeParam>().encode();

  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto decoded = TypeParam::decode(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(decoded) << size << " bytes of " << bytes.size();
    EXPECT_EQ(decoded.error().code(), ErrorCode::kInvalid);
  }
}

TYPED_TEST(MessageTest, RefusesAByteTooMany) {
  EXPECT_FALSE(TypeParam::decode(some<TypeParam>().encode() + '\0'));
}

TEST(StartRequestTest, KeepsEachField) {
  const StartRequest sent = some_start();

  const auto got = StartRequest::decode(sent.encode());

  ASSERT_TRUE(got);
  EXPECT_EQ(got->argv, sent.argv);
  EXPECT_EQ(got->env, sent.env);
  EXPECT_EQ(got->cwd, sent.cwd);
  EXPECT_EQ(got->open_files, sent.open_files);
  EXPECT_EQ(got->cpu_seconds, sent.cpu_seconds);
  EXPECT_EQ(got->processes, sent.processes);
  EXPECT_EQ(got->data_size, sent.data_size);
  EXPECT_EQ(got->file_size, sent.file_size);
  EXPECT_EQ(got->deadline_ms, sent.deadline_ms);
  EXPECT_EQ(got->with_stdin, sent.with_stdin);
  EXPECT_EQ(got->terminal.columns, sent.terminal.columns);
  EXPECT_EQ(got->terminal.rows, sent.terminal.rows);
  EXPECT_EQ(got->streams, sent.streams);
  EXPECT_EQ(got->relayed, sent.relayed);
  EXPECT_EQ(got->alone, sent.alone);
  EXPECT_EQ(got->filter, sent.filter);
  EXPECT_EQ(got->writes_everywhere, sent.writes_everywhere);
  EXPECT_EQ(got->writable, sent.writable);
  EXPECT_EQ(got->reads_everywhere, sent.reads_everywhere);
  EXPECT_EQ(got->readable, sent.readable);
  EXPECT_EQ(got->system, sent.system);
}

TEST(StreamReportTest, RefusesAStreamThatDoesNotExist) {
  std::string bytes = some<StreamReport>().encode();
  bytes[0] = static_cast<char>(kStreams);
  EXPECT_FALSE(StreamReport::decode(bytes));
}

TEST(StartRequestTest, RefusesMoreArgumentsThanTheBound) {
  StartRequest request;
  request.argv.resize(kMaxArguments);
  EXPECT_TRUE(StartRequest::decode(request.encode()));

  request.argv.emplace_back();
  EXPECT_FALSE(StartRequest::decode(request.encode()));
}

TEST(StartRequestTest, RefusesMoreVariablesThanTheBound) {
  StartRequest request;
  request.env.resize(kMaxArguments + 1);
  EXPECT_FALSE(StartRequest::decode(request.encode()));
}

TEST(StartRequestTest, RefusesACountWithoutItems) {
  std::string bytes = some_start().encode();
  bytes.replace(0, 4, "\xff\xff\xff\xff", 4);
  EXPECT_FALSE(StartRequest::decode(bytes));
}

TEST(WriteRequestTest, RefusesALengthThatReachesPastTheEnd) {
  WireWriter out;
  out.text("a");
  out.u32(0644);
  out.u32(0xffffffff);
  EXPECT_FALSE(WriteRequest::decode(out.take()));
}

TEST(SnapshotRequestTest, KeepsItsNumber) {
  const auto got = SnapshotRequest::decode(some<SnapshotRequest>().encode());

  ASSERT_TRUE(got);
  EXPECT_EQ(got->id, 0xfffffffeU);
}

TEST(ReadyReportTest, KeepsEachField) {
  const ReadyReport sent = some_ready();

  const auto got = ReadyReport::decode(sent.encode());

  ASSERT_TRUE(got);
  EXPECT_EQ(got->protocol, sent.protocol);
  EXPECT_EQ(got->namespaces, sent.namespaces);
  EXPECT_EQ(got->seccomp_mode, sent.seccomp_mode);
  EXPECT_EQ(got->landlock, sent.landlock);
  EXPECT_EQ(got->uid, sent.uid);
  EXPECT_EQ(got->no_new_privs, sent.no_new_privs);
  EXPECT_EQ(got->no_capabilities, sent.no_capabilities);
  EXPECT_EQ(got->capabilities, sent.capabilities);
}

TEST(ReadyReportTest, RefusesMoreNamespacesThanThereCanBe) {
  ReadyReport report = some_ready();
  report.namespaces.assign(17, 1);
  EXPECT_FALSE(ReadyReport::decode(report.encode()));
}

TEST(EndedReportTest, KeepsEachFieldAndTheSignsOfNumbers) {
  const auto sent = some<EndedReport>();

  const auto got = EndedReport::decode(sent.encode());

  ASSERT_TRUE(got);
  EXPECT_EQ(got->wait_status, -1);
  EXPECT_EQ(got->start_error, sent.start_error);
  EXPECT_EQ(got->cpu_us, sent.cpu_us);
  EXPECT_EQ(got->max_rss, sent.max_rss);
  EXPECT_EQ(got->deadline, sent.deadline);
  EXPECT_EQ(got->disk_used, sent.disk_used);
  EXPECT_EQ(got->inodes_used, sent.inodes_used);
  EXPECT_EQ(got->disk_full, sent.disk_full);
  EXPECT_EQ(got->inodes_full, sent.inodes_full);
}

TEST(FilesReportTest, KeepsEachFile) {
  const FilesReport sent = some_files();

  const auto got = FilesReport::decode(sent.encode());

  ASSERT_TRUE(got);
  EXPECT_EQ(got->files, sent.files);
  EXPECT_EQ(got->truncated, sent.truncated);
}

TEST(FilesReportTest, RefusesMoreFilesThanTheBound) {
  FilesReport report;
  report.files.resize(kMaxListedFiles);
  const auto most = FilesReport::decode(report.encode());
  ASSERT_TRUE(most);
  EXPECT_THAT(most->files, SizeIs(kMaxListedFiles));

  report.files.emplace_back();
  EXPECT_FALSE(FilesReport::decode(report.encode()));
}

TEST(FilesReportTest, RefusesAKindOfChangeThatDoesNotExist) {
  std::string bytes = FilesReport{.files = {{"a", 1, FileChange::Kind::kDeleted}}}.encode();
  bytes.back() = 3;
  EXPECT_FALSE(FilesReport::decode(bytes));
}

std::string setup_report(const std::vector<std::uint32_t>& words) {
  WireWriter out;
  for (const std::uint32_t word : words) {
    out.u32(word);
  }
  return out.take();
}

TEST(SetupReportTest, ReadsTheTimesOfAsManyStepsAsThereAre) {
  const auto report = SetupReport::decode(setup_report({5, EPERM, 7, 10, 20, 30}));

  ASSERT_TRUE(report);
  EXPECT_EQ(report->failed_step, 5U);
  EXPECT_EQ(report->error, EPERM);
  EXPECT_EQ(report->detail, 7U);
  EXPECT_THAT(report->step_us, ElementsAre(10, 20, 30));
}

TEST(SetupReportTest, RefusesWhatIsTooShortOrEndsWithinANumber) {
  const std::string bytes = setup_report({5, EPERM, 7, 10});

  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const bool whole = size == 12;  // The three numbers without any step.
    EXPECT_EQ(SetupReport::decode(std::string_view(bytes).substr(0, size)).has_value(), whole)
        << size;
  }
}

}  // namespace
}  // namespace glovebox::warden
