// SPDX-License-Identifier: Apache-2.0
// What a warden and the program outside say to each other, over one stream socket, in frames
// (base/frame.h). A channel is one process in the sandbox; the outside picks its number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/verdict.h"

namespace glovebox::warden {

// Bounds that hold on both ends.
inline constexpr std::size_t kMaxArguments = 16'384;
inline constexpr std::size_t kMaxListedFiles = 10'000;
inline constexpr std::size_t kMaxSnapshots = 64;
inline constexpr std::size_t kMaxSnapshotFiles = 65'536;  // Directories and links among them.
inline constexpr std::size_t kMaxSnapshotDepth = 64;

// Bytes of one process's standard input that may be on their way, so that a process that does not
// read fills no memory of ours.
inline constexpr std::size_t kStdinWindow = 1U << 20;

enum class Request : std::uint8_t {
  kStart = 1,     // StartRequest
  kStdin = 2,     // Bytes for the process's standard input.
  kStdinEnd = 3,  // No more of them.
  kSignal = 4,    // SignalRequest
  kWrite = 5,     // WriteRequest: one small file; answered by kDone.
  kUnpack = 6,    // Payload: directory. A tar archive follows as kStdin; its complaints come as
                  // kStderr; answered by kEnded.
  kPack = 7,      // PackRequest. Answered by kStdout frames holding a tar archive, then kEnded.
  kMark = 8,      // Remember the workspace's files as they are now; answered by kDone.
  kChanges = 9,   // Answered by kFiles: what differs from the mark.
  // Each a SnapshotRequest, answered by kDone.
  kSnapshot = 10,      // Keep the workspace as it is now, under a new number.
  kRestore = 11,       // Make the workspace what it was then.
  kDropSnapshot = 12,  // Forget it.
  kDisk = 13,          // Answered by kEnded: what the guest uses of its file system now.
};

enum class Reply : std::uint8_t {
  kSetup = 64,    // SetupReport; before any other frame, and the only one when the set-up failed.
  kReady = 65,    // ReadyReport
  kStarted = 66,  // Payload: pid inside, u32.
  kStdout = 67,
  kStderr = 68,
  kEnded = 69,       // EndedReport
  kDone = 70,        // DoneReport
  kFiles = 71,       // FilesReport
  kStdinTaken = 72,  // Payload: how many bytes of standard input were passed on, u32.
};

// Where a process's standard streams lead. Descriptors come with the frame, in the order named.
enum class Streams : std::uint8_t {
  kRelayed = 0,   // To us, in frames.
  kAgent = 1,     // Standard output, standard error, and a socket that becomes descriptor 3.
  kProcess = 2,   // Standard input, output and error.
  kTerminal = 3,  // All three are one terminal, which becomes the controlling one of its session.
};

// How many descriptors come for it.
constexpr std::size_t descriptors_of(Streams streams) {
  return streams == Streams::kRelayed ? 0 : streams == Streams::kTerminal ? 1 : 3;
}

struct StartRequest {
  std::vector<std::string> argv{};
  std::vector<std::string> env{};  // "NAME=value"
  std::string cwd{};
  std::uint32_t open_files = 0;
  std::uint64_t cpu_seconds = 0;  // RLIMIT_CPU of each process; 0 is none.
  std::uint64_t processes = 0;    // RLIMIT_NPROC; 0 is none.
  std::uint64_t data_size = 0;    // RLIMIT_DATA, where no cgroup limits memory; 0 is none.
  std::uint64_t file_size = 0;    // RLIMIT_FSIZE, where no file system limits it; 0 is none.
  std::uint64_t deadline_ms = 0;  // The warden's own wall timer, a backstop; 0 is none.
  bool with_stdin = false;        // Otherwise standard input is /dev/null.
  Streams streams = Streams::kRelayed;
  bool alone = false;    // When this process ends, everything else is killed.
  std::string filter{};  // A seccomp filter (sock_filter array) on top; empty is none.

  [[nodiscard]] std::string encode() const;
  static Result<StartRequest> decode(std::string_view bytes);
};

struct SignalRequest {
  std::uint32_t signal = 0;
  bool everything = false;  // Every process of the sandbox but the warden, not one group.

  [[nodiscard]] std::string encode() const;
  static Result<SignalRequest> decode(std::string_view bytes);
};

struct WriteRequest {
  std::string path;  // Relative to the workspace.
  std::uint32_t mode = 0644;
  std::string_view bytes;

  [[nodiscard]] std::string encode() const;
  static Result<WriteRequest> decode(std::string_view bytes);
};

struct PackRequest {
  bool changed_only = false;  // What differs from the mark.
  std::uint64_t max_bytes = 0;
  std::string path;  // Relative to the workspace; empty is all of it.

  [[nodiscard]] std::string encode() const;
  static Result<PackRequest> decode(std::string_view bytes);
};

struct SnapshotRequest {
  std::uint32_t id = 0;

  [[nodiscard]] std::string encode() const;
  static Result<SnapshotRequest> decode(std::string_view bytes);
};

// Sent by the set-up code between clone and exec (sandbox/child), before the warden runs.
struct SetupReport {
  std::uint32_t failed_step = 0;       // A SetupStep; 0 when all went well.
  std::int32_t error = 0;              // errno of the call that failed.
  std::uint32_t detail = 0;            // Which of several alike: the index of a mount, and so on.
  std::vector<std::uint32_t> step_us;  // Time of each step, in the order of SetupStep.

  static Result<SetupReport> decode(std::string_view bytes);
};

// What the warden sees of its own walls.
struct ReadyReport {
  std::uint32_t protocol = 1;
  // Inode numbers of the namespaces: user, mnt, pid, net, ipc, uts, cgroup.
  std::vector<std::uint64_t> namespaces;
  std::uint32_t seccomp_mode = 0;
  std::uint32_t landlock = 0;
  std::uint32_t uid = 0;
  bool no_new_privs = false;
  bool no_capabilities = false;

  [[nodiscard]] std::string encode() const;
  static Result<ReadyReport> decode(std::string_view bytes);
};

struct EndedReport {
  std::int32_t wait_status = 0;  // As waitpid(2) gives it.
  std::int32_t start_error = 0;  // errno when the program could not be started at all.
  std::uint64_t cpu_us = 0;      // User and system time of the process and what it waited for.
  std::uint64_t max_rss = 0;     // Bytes, of the largest of its processes.
  bool deadline = false;         // The warden's own timer ended it.
  // The sandbox's file system, then: what the guest uses of it, and whether anything is left.
  std::uint64_t disk_used = 0;
  std::uint64_t inodes_used = 0;
  bool disk_full = false;
  bool inodes_full = false;

  [[nodiscard]] std::string encode() const;
  static Result<EndedReport> decode(std::string_view bytes);
};

struct DoneReport {
  std::string error;          // Why it could not be done; empty when it was.
  std::int32_t os_error = 0;  // The errno behind it, or 0.
  [[nodiscard]] std::string encode() const;
  static Result<DoneReport> decode(std::string_view bytes);
};

struct FilesReport {
  std::vector<FileChange> files;
  bool truncated = false;
  [[nodiscard]] std::string encode() const;
  static Result<FilesReport> decode(std::string_view bytes);
};

}  // namespace glovebox::warden
