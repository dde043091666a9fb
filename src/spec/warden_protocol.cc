// SPDX-License-Identifier: Apache-2.0
#include "spec/warden_protocol.h"

#include <algorithm>
#include <utility>

#include "base/wire.h"

namespace glovebox::warden {
namespace {

// The value when every byte was read and none was missing.
template <typename T>
Result<T> checked(const WireReader& reader, T value, const char* what) {
  if (!reader.complete()) {
    return Error(ErrorCode::kInvalid, std::string("malformed ") + what);
  }
  return value;
}

// Both in one word.
std::uint32_t word_of(TerminalSize size) { return std::uint32_t{size.columns} << 16 | size.rows; }
TerminalSize size_of(std::uint32_t word) {
  return {.columns = static_cast<std::uint16_t>(word >> 16),
          .rows = static_cast<std::uint16_t>(word)};
}

std::int32_t signed_of(std::uint32_t value) { return static_cast<std::int32_t>(value); }
std::uint32_t unsigned_of(std::int32_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

std::string TerminalSize::encode() const {
  WireWriter out;
  out.u32(word_of(*this));
  return out.take();
}

Result<TerminalSize> TerminalSize::decode(std::string_view bytes) {
  WireReader in(bytes);
  const TerminalSize size = size_of(in.u32());
  return checked(in, size, "size of a terminal");
}

std::string StartRequest::encode() const {
  WireWriter out;
  out.texts(argv);
  out.texts(env);
  out.text(cwd);
  out.u32(open_files);
  out.u64(cpu_seconds);
  out.u64(processes);
  out.u64(data_size);
  out.u64(file_size);
  out.u64(deadline_ms);
  out.u8(with_stdin ? 1 : 0);
  out.u8(static_cast<std::uint8_t>(streams));
  out.u8(relayed ? 1 : 0);
  out.u32(word_of(terminal));
  out.u8(alone ? 1 : 0);
  out.u8(waits ? 1 : 0);
  out.text(filter);
  out.u8(writes_everywhere ? 1 : 0);
  out.texts(writable);
  out.u8(reads_everywhere ? 1 : 0);
  out.texts(readable);
  out.texts(system);
  return out.take();
}

Result<StartRequest> StartRequest::decode(std::string_view bytes) {
  WireReader in(bytes);
  StartRequest request;
  request.argv = in.texts(kMaxArguments);
  request.env = in.texts(kMaxArguments);
  request.cwd = in.text();
  request.open_files = in.u32();
  request.cpu_seconds = in.u64();
  request.processes = in.u64();
  request.data_size = in.u64();
  request.file_size = in.u64();
  request.deadline_ms = in.u64();
  request.with_stdin = in.u8() != 0;
  const std::uint8_t streams = in.u8();
  if (streams > static_cast<std::uint8_t>(Streams::kTerminal)) {
    return Error(ErrorCode::kInvalid, "a start request names unknown streams");
  }
  request.streams = static_cast<Streams>(streams);
  request.relayed = in.u8() != 0;
  request.terminal = size_of(in.u32());
  request.alone = in.u8() != 0;
  request.waits = in.u8() != 0;
  request.filter = in.text();
  request.writes_everywhere = in.u8() != 0;
  request.writable = in.texts(kMaxArguments);
  request.reads_everywhere = in.u8() != 0;
  request.readable = in.texts(kMaxArguments);
  request.system = in.texts(kMaxArguments);
  return checked(in, std::move(request), "start request");
}

std::string StreamReport::encode() const {
  WireWriter out;
  out.u8(static_cast<std::uint8_t>(stream));
  out.u32(bytes);
  return out.take();
}

Result<StreamReport> StreamReport::decode(std::string_view bytes) {
  WireReader in(bytes);
  const std::uint8_t stream = in.u8();
  if (stream >= kStreams) {
    return Error(ErrorCode::kInvalid, "a report names an unknown stream");
  }
  StreamReport report{.stream = static_cast<Stream>(stream), .bytes = in.u32()};
  return checked(in, report, "stream report");
}

std::string SignalRequest::encode() const {
  WireWriter out;
  out.u32(signal);
  out.u8(everything ? 1 : 0);
  return out.take();
}

Result<SignalRequest> SignalRequest::decode(std::string_view bytes) {
  WireReader in(bytes);
  SignalRequest request;
  request.signal = in.u32();
  request.everything = in.u8() != 0;
  return checked(in, request, "signal request");
}

std::string WriteRequest::encode() const {
  WireWriter out;
  out.text(path);
  out.u32(mode);
  out.text(bytes);
  return out.take();
}

Result<WriteRequest> WriteRequest::decode(std::string_view bytes) {
  WireReader in(bytes);
  WriteRequest request;
  request.path = in.text();
  request.mode = in.u32();
  request.bytes = in.text();
  return checked(in, std::move(request), "write request");
}

std::string PackRequest::encode() const {
  WireWriter out;
  out.u8(changed_only ? 1 : 0);
  out.u64(max_bytes);
  out.text(path);
  return out.take();
}

Result<PackRequest> PackRequest::decode(std::string_view bytes) {
  WireReader in(bytes);
  PackRequest request;
  request.changed_only = in.u8() != 0;
  request.max_bytes = in.u64();
  request.path = in.text();
  return checked(in, std::move(request), "pack request");
}

std::string SnapshotRequest::encode() const {
  WireWriter out;
  out.u32(id);
  out.u8(thorough ? 1 : 0);
  return out.take();
}

Result<SnapshotRequest> SnapshotRequest::decode(std::string_view bytes) {
  WireReader in(bytes);
  SnapshotRequest request;
  request.id = in.u32();
  request.thorough = in.u8() != 0;
  return checked(in, request, "snapshot request");
}

std::string MoveInRequest::encode() const {
  WireWriter out;
  out.text(filter);
  out.texts(directories);
  out.texts(machine_targets);
  return out.take();
}

Result<MoveInRequest> MoveInRequest::decode(std::string_view bytes) {
  constexpr std::size_t kMostDirectories = 16;
  WireReader in(bytes);
  MoveInRequest request;
  request.filter = in.text();
  request.directories = in.texts(kMostDirectories);
  request.machine_targets = in.texts(kMachineFiles);
  if (request.directories.empty()) {
    return Error(ErrorCode::kInvalid, "malformed request to move in");
  }
  return checked(in, std::move(request), "request to move in");
}

Result<SetupReport> SetupReport::decode(std::string_view bytes) {
  WireReader in(bytes);
  SetupReport report;
  report.failed_step = in.u32();
  report.error = signed_of(in.u32());
  report.detail = in.u32();
  const std::size_t steps = bytes.size() < 12 ? 0 : (bytes.size() - 12) / 4;
  for (std::size_t i = 0; i < steps; ++i) {
    report.step_us.push_back(in.u32());
  }
  return checked(in, std::move(report), "set-up report");
}

std::string ReadyReport::encode() const {
  WireWriter out;
  out.u32(protocol);
  out.u32(static_cast<std::uint32_t>(namespaces.size()));
  for (const std::uint64_t inode : namespaces) {
    out.u64(inode);
  }
  out.u32(seccomp_mode);
  out.u32(landlock);
  out.u32(uid);
  out.u8(no_new_privs ? 1 : 0);
  out.u8(no_capabilities ? 1 : 0);
  out.u64(capabilities);
  out.text(kernel);
  return out.take();
}

Result<ReadyReport> ReadyReport::decode(std::string_view bytes) {
  WireReader in(bytes);
  ReadyReport report;
  report.protocol = in.u32();
  const std::uint32_t count = in.u32();
  constexpr std::uint32_t kMostNamespaces = 16;
  if (count > kMostNamespaces) {
    return Error(ErrorCode::kInvalid, "malformed ready report");
  }
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    report.namespaces.push_back(in.u64());
  }
  report.seccomp_mode = in.u32();
  report.landlock = in.u32();
  report.uid = in.u32();
  report.no_new_privs = in.u8() != 0;
  report.no_capabilities = in.u8() != 0;
  report.capabilities = in.u64();
  report.kernel = in.text();
  if (report.kernel.size() > kLongestKernelName) {
    return Error(ErrorCode::kInvalid, "malformed ready report");
  }
  return checked(in, std::move(report), "ready report");
}

std::string EndedReport::encode() const {
  WireWriter out;
  out.u32(unsigned_of(wait_status));
  out.u32(unsigned_of(start_error));
  out.u64(cpu_us);
  out.u64(max_rss);
  out.u8(deadline ? 1 : 0);
  out.u64(disk_used);
  out.u64(inodes_used);
  out.u8(disk_full ? 1 : 0);
  out.u8(inodes_full ? 1 : 0);
  return out.take();
}

Result<EndedReport> EndedReport::decode(std::string_view bytes) {
  WireReader in(bytes);
  EndedReport report;
  report.wait_status = signed_of(in.u32());
  report.start_error = signed_of(in.u32());
  report.cpu_us = in.u64();
  report.max_rss = in.u64();
  report.deadline = in.u8() != 0;
  report.disk_used = in.u64();
  report.inodes_used = in.u64();
  report.disk_full = in.u8() != 0;
  report.inodes_full = in.u8() != 0;
  return checked(in, report, "end report");
}

std::string DoneReport::encode() const {
  WireWriter out;
  out.text(error);
  out.u32(static_cast<std::uint32_t>(os_error));
  return out.take();
}

Result<DoneReport> DoneReport::decode(std::string_view bytes) {
  WireReader in(bytes);
  DoneReport report;
  report.error = in.text();
  report.os_error = static_cast<std::int32_t>(in.u32());
  return checked(in, std::move(report), "answer");
}

std::string ProcessesReport::encode() const {
  WireWriter out;
  out.u32(static_cast<std::uint32_t>(processes.size()));
  for (const Process& process : processes) {
    out.u32(process.channel);
    out.u32(process.pid);
    out.u8(static_cast<std::uint8_t>(process.streams));
    out.u32(process.waiting_in);
    out.u32(process.waiting_to_channel);
  }
  return out.take();
}

Result<ProcessesReport> ProcessesReport::decode(std::string_view bytes) {
  WireReader in(bytes);
  ProcessesReport report;
  const Error malformed(ErrorCode::kInvalid, "malformed report of processes");
  const std::uint32_t count = in.u32();
  if (count > kMost) {
    return malformed;
  }
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    Process process;
    process.channel = in.u32();
    process.pid = in.u32();
    const std::uint8_t streams = in.u8();
    process.streams = static_cast<Streams>(streams);
    process.waiting_in = in.u32();
    process.waiting_to_channel = in.u32();
    const bool known = std::ranges::find(report.processes, process.channel, &Process::channel) !=
                       report.processes.end();
    if (known || process.channel == 0 || streams > static_cast<std::uint8_t>(Streams::kTerminal) ||
        process.waiting_in > kInputWindow || process.waiting_to_channel > kInputWindow) {
      return malformed;
    }
    report.processes.push_back(process);
  }
  return checked(in, std::move(report), "report of processes");
}

std::string FilesReport::encode() const {
  WireWriter out;
  out.u8(truncated ? 1 : 0);
  out.u32(static_cast<std::uint32_t>(files.size()));
  for (const FileChange& file : files) {
    out.text(file.path);
    out.u64(file.size);
    out.u8(static_cast<std::uint8_t>(file.kind));
  }
  return out.take();
}

Result<FilesReport> FilesReport::decode(std::string_view bytes) {
  WireReader in(bytes);
  FilesReport report;
  report.truncated = in.u8() != 0;
  const std::uint32_t count = in.u32();
  if (count > kMaxListedFiles) {
    return Error(ErrorCode::kInvalid, "malformed list of files");
  }
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    FileChange file;
    file.path = in.text();
    file.size = in.u64();
    const std::uint8_t kind = in.u8();
    if (kind > static_cast<std::uint8_t>(FileChange::Kind::kDeleted)) {
      return Error(ErrorCode::kInvalid, "malformed list of files");
    }
    file.kind = static_cast<FileChange::Kind>(kind);
    report.files.push_back(std::move(file));
  }
  return checked(in, std::move(report), "list of files");
}

std::string VersionRequest::encode() const {
  WireWriter out;
  out.u32(snapshot);
  out.u8(now ? 1 : 0);
  out.u32(max_bytes);
  out.text(path);
  return out.take();
}

Result<VersionRequest> VersionRequest::decode(std::string_view bytes) {
  WireReader in(bytes);
  VersionRequest request;
  request.snapshot = in.u32();
  request.now = in.u8() != 0;
  request.max_bytes = in.u32();
  request.path = in.text();
  return checked(in, std::move(request), "version request");
}

std::string DifferencesReport::encode() const {
  WireWriter out;
  out.u8(truncated ? 1 : 0);
  out.u32(static_cast<std::uint32_t>(files.size()));
  for (const FileDifference& file : files) {
    out.text(file.path);
    out.u8(static_cast<std::uint8_t>(file.kind));
    out.u8(static_cast<std::uint8_t>(file.type));
    out.u64(file.size);
    out.u64(file.size_before);
    out.u32(file.mode);
    out.u32(file.mode_before);
    out.u64(static_cast<std::uint64_t>(file.changed_ns));
  }
  return out.take();
}

Result<DifferencesReport> DifferencesReport::decode(std::string_view bytes) {
  WireReader in(bytes);
  DifferencesReport report;
  report.truncated = in.u8() != 0;
  const std::uint32_t count = in.u32();
  for (std::uint32_t i = 0; i < count && in.ok() && i < kMaxListedFiles; ++i) {
    FileDifference file;
    file.path = in.text();
    const std::uint8_t kind = in.u8();
    const std::uint8_t type = in.u8();
    file.size = in.u64();
    file.size_before = in.u64();
    file.mode = in.u32() & 07777U;
    file.mode_before = in.u32() & 07777U;
    file.changed_ns = static_cast<std::int64_t>(in.u64());
    if (kind > static_cast<std::uint8_t>(FileDifference::Kind::kDeleted) ||
        type > static_cast<std::uint8_t>(FileDifference::Type::kOther)) {
      return Error(ErrorCode::kInvalid, "malformed list of differences");
    }
    file.kind = static_cast<FileDifference::Kind>(kind);
    file.type = static_cast<FileDifference::Type>(type);
    report.files.push_back(std::move(file));
  }
  return checked(in, std::move(report), "list of differences");
}

std::string ContentReport::encode() const {
  WireWriter out;
  out.u8(known ? 1 : 0);
  out.text(bytes);
  return out.take();
}

Result<ContentReport> ContentReport::decode(std::string_view bytes) {
  WireReader in(bytes);
  ContentReport report;
  report.known = in.u8() != 0;
  report.bytes = in.text();
  if (report.bytes.size() > kMaxVersion) {
    return Error(ErrorCode::kInvalid, "malformed content of a file");
  }
  return checked(in, std::move(report), "content of a file");
}

}  // namespace glovebox::warden
