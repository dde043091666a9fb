// SPDX-License-Identifier: Apache-2.0
// What a warden and the program outside say to each other, over one stream socket, in frames
// (base/frame.h). A channel is one process in the sandbox; the outside picks its number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/file_difference.h"
#include "spec/verdict.h"

namespace glovebox::warden {

// Bounds that hold on both ends.
inline constexpr std::size_t kMaxArguments = 16'384;
inline constexpr std::size_t kMaxListedFiles = 10'000;
inline constexpr std::size_t kMaxSnapshots = 64;
inline constexpr std::size_t kMaxSnapshotFiles = 65'536;  // Directories and links among them.
inline constexpr std::size_t kMaxSnapshotDepth = 64;
// Of one file, for showing what has changed in it.
inline constexpr std::size_t kMaxVersion = 512U << 10;

// Files that describe the machine to guests (sandbox/machine.h).
inline constexpr std::size_t kMachineFiles = 4;

// Bytes of one stream that may be on their way and not yet passed on: to a process, so that one
// that does not read fills no memory; from a process, so that one whose output nobody takes stops
// without holding up others.
inline constexpr std::size_t kInputWindow = 1U << 20;
inline constexpr std::size_t kOutputWindow = 256U << 10;
// The side that passes bytes on says so after this many, or sooner.
inline constexpr std::size_t kAcknowledged = kOutputWindow / 4;

enum class Request : std::uint8_t {
  kStart = 1,      // StartRequest
  kStdin = 2,      // Bytes for the process's standard input.
  kStreamEnd = 3,  // StreamReport: no more bytes for it, or nobody takes what comes from it.
  kSignal = 4,     // SignalRequest
  kWrite = 5,      // WriteRequest: one small file; answered by kDone.
  kUnpack = 6,     // Payload: directory. A tar archive follows as kStdin; its complaints come as
                   // kStderr; ends with kEnded.
  kPack = 7,       // PackRequest. Answered by kStdout frames holding a tar archive, then kEnded.
  kMark = 8,       // Remember the workspace's files as they are now; answered by kDone.
  kChanges = 9,    // Answered by kFiles: what differs from the mark.
  // Each a SnapshotRequest, answered by kDone.
  kSnapshot = 10,      // Keep the workspace as it is now, under a new number.
  kRestore = 11,       // Make the workspace what it was then.
  kDropSnapshot = 12,  // Forget it.
  kDisk = 13,          // Answered by kEnded: what the guest uses of its file system now.
  kToChannel = 14,     // Bytes for the process's descriptor 3.
  kTaken = 15,         // StreamReport: so many bytes from a stream were passed on.
  kMachine = 17,       // kMachineFiles texts (WireWriter::texts()): what files that describe the
                       // machine say from now on. Only if the root is ours; no answer.
  kMoveIn = 18,        // MoveInRequest: the first frame to a warden that builds its walls itself,
                       // and to no other. It is ready after the first kMachine, and says so then;
                       // if it fails, kDone says what did.
  kCompare = 19,       // SnapshotRequest; answered by kDifferences: what is not as it was then.
  kReadVersion = 20,   // VersionRequest; answered by kContent.
  kRest = 21,          // Say nothing more, and take nothing from anybody, until kWake or kGoOn:
                       // answered by kResting. What the guests do meanwhile waits for it.
  kWake = 22,          // Continue, perhaps with another outside, whose first frame this is.
                       // Answered by kProcesses and ReadyReport. Nothing comes from a process, not
                       // even its end, until a kTaken says how much of it may.
  kGoOn = 23,          // The rest is over, and nothing outside has changed; no answer.
  kResize = 24,        // TerminalSize: of the terminal that is relayed for the process; no answer.
  kProgram = 25,  // WriteRequest, for a process that waits: what to run. The workspace is marked
                  // then, and kFiles comes before kEnded. kDone says why not.
  kSettle = 16,   // Answered by kSettled, once what the process has written to its standard output
                  // and error until now was sent. No answer for a process that ended.
};

enum class Reply : std::uint8_t {
  kSetup = 64,    // SetupReport; before any other frame, and the only one when the set-up failed.
  kReady = 65,    // ReadyReport
  kStarted = 66,  // Payload: pid inside, u32.
  kStdout = 67,
  kStderr = 68,
  kEnded = 69,        // EndedReport
  kDone = 70,         // DoneReport
  kFiles = 71,        // FilesReport
  kTaken = 72,        // StreamReport: so many bytes for a stream were passed on.
  kFromChannel = 73,  // Bytes from descriptor 3.
  kStreamEnd = 74,    // StreamReport: nothing more comes from it, or nobody reads what is for it.
                      // Only of what is relayed beside a run; for a run, kEnded says as much.
  kSettled = 75,
  kDifferences = 76,  // DifferencesReport
  kContent = 77,      // ContentReport
  kResting = 78,      // The last frame until kWake or kGoOn.
  kProcesses = 79,    // ProcessesReport
};

// One direction of one stream of a process.
enum class Stream : std::uint8_t { kIn = 0, kOut = 1, kErr = 2, kToChannel = 3, kFromChannel = 4 };
inline constexpr std::size_t kStreams = 5;

// Which streams a process has.
enum class Streams : std::uint8_t {
  kRun = 0,       // Standard input, output and error, in frames until its end, which ends them.
  kAgent = 1,     // Standard output, standard error, and a socket that is descriptor 3.
  kProcess = 2,   // Standard input, output and error.
  kTerminal = 3,  // All three are one terminal, which becomes the controlling one of its session.
};

// How many descriptors come with the frame, in the order named, unless they are relayed.
constexpr std::size_t descriptors_of(Streams streams) {
  return streams == Streams::kRun ? 0 : streams == Streams::kTerminal ? 1 : 3;
}

struct TerminalSize {
  std::uint16_t columns = 80;
  std::uint16_t rows = 24;

  [[nodiscard]] std::string encode() const;
  static Result<TerminalSize> decode(std::string_view bytes);
};

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
  Streams streams = Streams::kRun;
  // No descriptors come: the warden makes the streams, and their bytes go in frames. The streams
  // outlive the process if others hold them; kEnded comes after what it had written itself.
  bool relayed = false;
  TerminalSize terminal{};  // Of a terminal that is relayed: the warden makes one in the sandbox.
  bool alone = false;       // When this process ends, everything else is killed.
  // It waits for its program and runs nothing else. When that has ended well, the process stops
  // itself, which counts as its end: the kernel tears down its memory while nobody waits for it.
  bool waits = false;
  std::string filter{};  // A seccomp filter (sock_filter array) on top; empty is none.
  // As in PlaceRules. Places that are missing are made, but no files to read; what cannot be found
  // stays closed.
  bool writes_everywhere = true;
  std::vector<std::string> writable{};
  bool reads_everywhere = true;
  std::vector<std::string> readable{};
  // Absolute paths that can always be read, whatever `readable` says: files, and directories with
  // all that is in them.
  std::vector<std::string> system{};

  [[nodiscard]] std::string encode() const;
  static Result<StartRequest> decode(std::string_view bytes);
};

struct StreamReport {
  Stream stream = Stream::kIn;
  std::uint32_t bytes = 0;

  [[nodiscard]] std::string encode() const;
  static Result<StreamReport> decode(std::string_view bytes);
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
  bool thorough = false;  // Every byte is looked at, whatever the times of files say.

  [[nodiscard]] std::string encode() const;
  static Result<SnapshotRequest> decode(std::string_view bytes);
};

// The content of a file, or the target of a symbolic link.
struct VersionRequest {
  std::uint32_t snapshot = 0;
  bool now = false;             // As it is, and not as it was at the snapshot.
  std::uint32_t max_bytes = 0;  // At most kMaxVersion; what is larger is not read.
  std::string path{};           // Relative to the workspace.

  [[nodiscard]] std::string encode() const;
  static Result<VersionRequest> decode(std::string_view bytes);
};

// Where the warden of a kernel of its own finds an empty file system in memory that holds all that
// guests may write, and its programs. Both are out of sight once it has moved in.
inline constexpr const char* kMovingPlace = "/run/moving";
inline constexpr const char* kMovingWarden = "/run/programs/glovebox-warden";
inline constexpr const char* kMovingArchiver = "/run/programs/glovebox-archiver";

// What the warden of a kernel of its own needs to build the walls that elsewhere are built from
// outside. The warden starts as root of that kernel. Nothing in this belongs to one sandbox alone,
// so it can be done before there is one (sandbox/microvm/template_files.h).
struct MoveInRequest {
  std::string filter{};  // Of system calls (sock_filter array), for the warden and all guests.
  // Directories that guests may write, absolute and existing: the first is their home and belongs
  // to them, the others are everybody's.
  std::vector<std::string> directories{};
  // The paths that the files describing the machine cover; kMachine fills those files. A path that
  // does not exist is left out.
  std::vector<std::string> machine_targets{};

  [[nodiscard]] std::string encode() const;
  static Result<MoveInRequest> decode(std::string_view bytes);
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
  std::uint64_t capabilities = 0;  // That guests can have: the bounding set, a bit for each.
  std::string kernel{};            // Release and version, as uname(2) has them.
  static constexpr std::size_t kLongestKernelName = 256;

  [[nodiscard]] std::string encode() const;
  static Result<ReadyReport> decode(std::string_view bytes);
};

struct EndedReport {
  std::int32_t wait_status = 0;  // As waitpid(2) gives it.
  std::int32_t start_error = 0;  // errno when the program could not be started at all.
  std::uint64_t cpu_us = 0;      // User and system time of the process and what it waited for.
  std::uint64_t max_rss = 0;     // Bytes, of the largest of its processes.
  bool deadline = false;         // The warden's own timer ended it.
  // The sandbox's file system at that time: what the guest uses of it, and whether anything is
  // left.
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

struct DifferencesReport {
  std::vector<FileDifference> files{};  // By path.
  bool truncated = false;
  [[nodiscard]] std::string encode() const;
  static Result<DifferencesReport> decode(std::string_view bytes);
};

struct ContentReport {
  bool known = false;  // There is such a file, and it is small enough.
  std::string bytes{};
  [[nodiscard]] std::string encode() const;
  static Result<ContentReport> decode(std::string_view bytes);
};

// The processes beside runs that have not been reported as ended.
struct ProcessesReport {
  struct Process {
    std::uint32_t channel = 0;
    std::uint32_t pid = 0;  // Inside.
    Streams streams = Streams::kProcess;
    // Of standard input and descriptor 3: bytes that it has not taken yet, which count against the
    // window.
    std::uint32_t waiting_in = 0;
    std::uint32_t waiting_to_channel = 0;
  };
  static constexpr std::size_t kMost = 4'096;
  std::vector<Process> processes{};

  [[nodiscard]] std::string encode() const;
  // Also kInvalid for channel 0, which is the warden's own, and for one that comes twice.
  static Result<ProcessesReport> decode(std::string_view bytes);
};

struct FilesReport {
  std::vector<FileChange> files;
  bool truncated = false;
  [[nodiscard]] std::string encode() const;
  static Result<FilesReport> decode(std::string_view bytes);
};

}  // namespace glovebox::warden
