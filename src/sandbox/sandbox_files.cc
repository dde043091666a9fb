// SPDX-License-Identifier: Apache-2.0
// What a sandbox's warden is asked about its files.
#include <algorithm>
#include <cerrno>

#include "base/frame.h"
#include "sandbox/run.h"
#include "sandbox/sandbox.h"
#include "spec/warden_protocol.h"

namespace glovebox {
namespace {

using Clock = WardenLink::Clock;
using namespace std::chrono_literals;

// For what the warden does at once unless the machine is starved; a guest cannot delay it.
constexpr auto kAnswerPatience = 30s;
// For what copies files; the warden gives up before this.
constexpr auto kCopyPatience = 120s;

}  // namespace

template <typename Take>
auto Sandbox::ask(warden::Request request,
                  std::string_view payload,
                  warden::Reply type,
                  std::chrono::seconds patience,
                  const Take& take) -> decltype(take(std::string_view())) {
  WardenLink::Channel channel(link_);
  channel.send(request, payload);
  const auto deadline = Clock::now() + patience;
  for (;;) {
    const Frame frame = GB_TRY(channel.receive(deadline));
    if (static_cast<warden::Reply>(frame.type) == type) {
      return take(frame.payload);
    }
  }
}

Result<void> Sandbox::ask_done(warden::Request request,
                               std::string_view payload,
                               std::chrono::seconds patience) {
  return ask(request, payload, warden::Reply::kDone, patience, &done_or_error);
}

Result<void> Sandbox::write_file(std::string_view path,
                                 std::string_view bytes,
                                 std::uint32_t mode) {
  // One frame holds the path as well; larger files would go through unpack().
  constexpr std::size_t kMost = kMaxFramePayload - 8192;
  if (bytes.size() > kMost) {
    return Error(ErrorCode::kInvalid, std::string(path) + " is too large to write at once");
  }
  const warden::WriteRequest request{.path = std::string(path), .mode = mode, .bytes = bytes};
  auto done = ask_done(warden::Request::kWrite, request.encode(), kAnswerPatience);
  return done ? Result<void>() : std::move(done).error().within("copy in " + std::string(path));
}

Result<void> Sandbox::unpack(std::string_view directory, int archive_fd) {
  RunOptions options{.limits = limits_, .stdin_fd = archive_fd, .kill_rest = false};
  options.limits.wall = 1h;
  Run run(*this, options);
  const RunOutcome outcome = GB_TRY(run.task(warden::Request::kUnpack, directory));
  if (outcome.status != Status::kOk) {
    std::string message = outcome.err.bytes;
    while (message.ends_with('\n')) {
      message.pop_back();
    }
    return Error(ErrorCode::kInvalid,
                 message.empty() ? "the archive could not be unpacked" : message)
        .with_os_error(outcome.status == Status::kDiskFull ? ENOSPC : 0);
  }
  return {};
}

Result<void> Sandbox::pack_changes(Bytes max,
                                   const std::function<Result<void>(std::string_view)>& sink) {
  Result<void> kept;
  RunOptions options{.limits = limits_, .kill_rest = false};
  options.limits.wall = 1h;
  options.limits.output = Bytes{0};
  options.observer.out = [&](std::string_view bytes) {
    if (kept) {
      kept = sink(bytes);
    }
  };
  Run run(*this, options);
  const warden::PackRequest request{.changed_only = true, .max_bytes = max.count, .path = {}};
  const RunOutcome outcome = GB_TRY(run.task(warden::Request::kPack, request.encode()));
  if (kept && outcome.status != Status::kOk) {
    return Error(ErrorCode::kUnavailable, "the changed files could not be packed");
  }
  return kept;
}

Result<void> Sandbox::mark() { return ask_done(warden::Request::kMark, {}, kAnswerPatience); }

Result<Sandbox::Changes> Sandbox::changed_files() {
  auto report = GB_TRY(ask(warden::Request::kChanges, {}, warden::Reply::kFiles, kAnswerPatience,
                           &warden::FilesReport::decode));
  return Changes{.files = std::move(report.files), .truncated = report.truncated};
}

Result<void> Sandbox::snapshot(std::uint32_t id, bool thorough) {
  auto done =
      ask_done(warden::Request::kSnapshot,
               warden::SnapshotRequest{.id = id, .thorough = thorough}.encode(), kCopyPatience);
  return done ? Result<void>() : std::move(done).error().within("take a snapshot of the files");
}

Result<void> Sandbox::restore(std::uint32_t id, bool thorough) {
  auto done =
      ask_done(warden::Request::kRestore,
               warden::SnapshotRequest{.id = id, .thorough = thorough}.encode(), kCopyPatience);
  return done ? Result<void>() : std::move(done).error().within("restore the files");
}

Result<void> Sandbox::drop_snapshot(std::uint32_t id) {
  return ask_done(warden::Request::kDropSnapshot, warden::SnapshotRequest{.id = id}.encode(),
                  kCopyPatience);
}

Result<Sandbox::Differences> Sandbox::compare(std::uint32_t snapshot) {
  auto report =
      GB_TRY(ask(warden::Request::kCompare, warden::SnapshotRequest{.id = snapshot}.encode(),
                 warden::Reply::kDifferences, kAnswerPatience, &warden::DifferencesReport::decode));
  return Differences{.files = std::move(report.files), .truncated = report.truncated};
}

Result<std::optional<std::string>> Sandbox::read_version(std::uint32_t snapshot,
                                                         const std::string& path,
                                                         Version version,
                                                         std::size_t max) {
  const warden::VersionRequest request{
      .snapshot = snapshot,
      .now = version == Version::kNow,
      .max_bytes = static_cast<std::uint32_t>(std::min(max, warden::kMaxVersion)),
      .path = path};
  auto report = GB_TRY(ask(warden::Request::kReadVersion, request.encode(), warden::Reply::kContent,
                           kAnswerPatience, &warden::ContentReport::decode));
  return report.known ? std::optional(std::move(report.bytes)) : std::nullopt;
}

Result<Sandbox::DiskUse> Sandbox::disk_use() {
  const auto report = GB_TRY(ask(warden::Request::kDisk, {}, warden::Reply::kEnded, kAnswerPatience,
                                 &warden::EndedReport::decode));
  return DiskUse{.bytes = Bytes{report.disk_used}, .inodes = report.inodes_used};
}

}  // namespace glovebox
