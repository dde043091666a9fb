// SPDX-License-Identifier: Apache-2.0
// Verdict: how an execution ended, from the guest's side, with what it used and which walls and
// limits held. Never an Error: a guest that loops forever was run correctly.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "spec/checks.h"
#include "spec/connection_record.h"
#include "spec/dry_run.h"
#include "spec/event.h"
#include "spec/guest_error.h"

namespace glovebox {

enum class Status {
  kOk,            // Exit status 0 and no uncaught error.
  kError,         // Any other exit status.
  kCompileError,  // The compiler said no; nothing was run.
  kTimeout,       // Wall or CPU time.
  kOutOfMemory,
  kPidsLimit,
  kDiskFull,
  kSignaled,  // A signal that no limit of ours explains.
  kCanceled,
  kRefused,     // Policy or approval said no; nothing was run.
  kUnverified,  // It ended with ok, but not everything that was checked holds.
  kFailed,      // Ours, never the guest's.
};

// The name in JSON: "ok", "compile_error", …
std::string_view to_string(Status status);

// The walls as they were seen from inside the sandbox, not as they were asked for.
struct Walls {
  std::string kernel{};  // Release and version, as uname(2) has them inside.
  bool user_ns = false;
  bool mount_ns = false;
  bool pid_ns = false;
  bool net_ns = false;
  bool ipc_ns = false;
  bool uts_ns = false;
  bool cgroup_ns = false;
  std::string network = "none";  // "none"; "rules": what network rules allow, through a proxy.
  std::string exec = "any";      // "any"; "rules": only programs that a policy lets start.
  std::string write = "any";     // "any"; "rules": only where a policy lets files be written.
  std::string read = "any";      // "any"; "rules": only what a policy lets be read, and the system.
  std::string seccomp = "none";  // "none", "default", "strict", "nested"
  int landlock = 0;              // The ABI in force; 0 is none.
  std::string cgroup = "none";   // "none", "v1", "v2"
  std::string uid = "same";      // "mapped": another identity outside; "same": the caller's.
  std::string user = "user";     // Who the guest is inside: "user", or "root".
  // What processes inside can have, over the sandbox's own namespaces only: "chown", …
  std::vector<std::string> capabilities{};
  bool no_capabilities = false;  // Every capability set is empty, the bounding set too.
  bool no_new_privs = false;
  friend bool operator==(const Walls&, const Walls&) = default;
};

// One limit as it really was. `hit` says that the guest ran into it, whatever ended the guest.
struct LimitReport {
  std::string name;  // As in kLimitFields: "memory", "cpu_time", …
  double value = 0;  // Bytes, seconds or a count, as the name says.
  bool enforced = false;
  bool hit = false;
  friend bool operator==(const LimitReport&, const LimitReport&) = default;
};

struct Usage {
  std::chrono::microseconds wall{0};
  std::chrono::microseconds cpu{0};
  Bytes memory_peak;
  std::uint64_t pids_peak = 0;
  Bytes disk;
  std::uint64_t inodes = 0;  // Files and directories, open and deleted ones too.
  friend bool operator==(const Usage&, const Usage&) = default;
};

// Where the time of a start went. Steps appear in the order in which they happened.
struct Timing {
  std::string step;
  std::chrono::microseconds took{0};
  friend bool operator==(const Timing&, const Timing&) = default;
};

struct FileChange {
  enum class Kind { kCreated, kModified, kDeleted };
  std::string path;  // Relative to the workspace; absolute where root has changed its root.
  std::uint64_t size = 0;
  Kind kind = Kind::kCreated;
  friend bool operator==(const FileChange&, const FileChange&) = default;
};

std::string_view to_string(FileChange::Kind kind);

// What is kept of one output stream.
struct Captured {
  std::string bytes;  // Head and tail with a marker between them when `truncated`.
  std::uint64_t total = 0;
  bool truncated = false;
  friend bool operator==(const Captured&, const Captured&) = default;
};

struct Verdict {
  std::string id;
  std::string language;
  std::string tier;
  Status status = Status::kFailed;
  int exit_code = 0;
  std::optional<int> signal;
  // Which limit ended the guest, if the status leaves it open: "time" or "cpu_time".
  std::string limit;
  Captured out;
  Captured err;
  // What was shown: kDisplay and kResult, in order. Empty for plain programs.
  std::vector<Event> results;
  int execution_count = 0;  // Of a context; 0 for plain programs.
  std::optional<GuestError> error;
  std::vector<FileChange> files;
  bool files_truncated = false;
  Walls walls;
  std::vector<LimitReport> limits;
  // With network rules: the first kMaxConnections that ended, and how many more there were.
  std::vector<ConnectionRecord> connections;
  std::uint64_t more_connections = 0;
  static constexpr std::size_t kMaxConnections = 1'000;
  Usage usage;
  std::vector<Timing> timings;
  // What was cut, lowered or could not be had, each a sentence for people.
  std::vector<std::string> notes;
  // How the caller's check ended, if one was asked for and the sandbox could still run it.
  std::shared_ptr<const Verdict> verification;
  // Of the checks that a request or a policy demands; empty if the run itself was not ok.
  std::vector<CheckReport> checks;
  // Of a dry run: what it has changed.
  std::optional<DryRun> dry_run;
};

}  // namespace glovebox
