// SPDX-License-Identifier: Apache-2.0
// Cgroup: the kernel's own limits for one sandbox, over v2, v1 or neither.
//
// The group is made below the one that we are in ourselves, so that limits which somebody set for
// us hold for our guests too. Processes are born into it (v2: CLONE_INTO_CGROUP) or move themselves
// into it (v1: admit() in launch.h); nothing is ever moved from outside, because
// such a move can wait 10 ms for an RCU grace period (Linux 6.0 and later).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "base/wire.h"
#include "sandbox/meter.h"
#include "sandbox/slot.h"
#include "spec/limits.h"

namespace glovebox {

enum class CgroupMode { kNone, kV1, kV2 };

std::string_view to_string(CgroupMode mode);

// What this process can use on this host, and why not more.
struct CgroupSupport {
  CgroupMode mode = CgroupMode::kNone;
  bool memory = false;
  bool pids = false;
  bool cpu = false;
  bool io = false;
  std::string reason;  // Why the mode is kNone.
  std::string hint;    // How to change that on an ordinary machine. A container needs other things.
};

class Cgroup final : public Meter {
 public:
  // None: it enforces and counts nothing.
  Cgroup() = default;

  // Asks the host, once in a process; later changes of the host are not seen.
  static const CgroupSupport& support();

  // What is in the group besides guests: the kernel that they run on, if that is a program of
  // this host. It needs memory of its own beyond the limit. The group cannot tell its threads from
  // the guests' processes, so it neither counts nor limits those; `most_threads` only protects
  // the host from the whole group.
  struct Kernel {
    Bytes memory{};
    std::uint64_t most_threads = 0;
  };

  // Makes the group of `slot` and sets `limits` as far as the host can; if the host can do nothing,
  // the group is empty and enforces nothing. Without a kernel the guests run on the host's.
  static Result<Cgroup> create(Slot& slot,
                               const Limits& limits,
                               std::optional<Kernel> kernel = std::nullopt);

  Cgroup(Cgroup&& other) noexcept = default;
  Cgroup& operator=(Cgroup&& other) noexcept = default;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  // Removes the group if remove() has not.
  ~Cgroup() override;

  [[nodiscard]] CgroupMode mode() const { return mode_; }
  [[nodiscard]] bool limits_memory() const { return memory_ >= 0; }
  [[nodiscard]] bool limits_pids() const { return guests_pids() >= 0; }
  [[nodiscard]] bool limits_cpus() const { return cpu_ >= 0; }
  [[nodiscard]] bool limits_io() const { return io_limited_; }
  [[nodiscard]] bool counts_cpu_time() const { return cpu_time_ >= 0; }

  // v2: the directory for CLONE_INTO_CGROUP, otherwise -1.
  [[nodiscard]] int directory_fd() const;
  // v1: where the first process writes "0". Valid while this object lives.
  [[nodiscard]] std::span<const int> task_fds() const { return task_fds_; }

  // Changes the limits of the living group, for instance between a compilation and a run. In v1
  // this resets the peak of memory.
  Result<void> change_limits(const Limits& limits);

  // Opens the guests' counters (five descriptors) now, for a caller that reads them later and has
  // no time to open them then.
  void hold_counters();

  [[nodiscard]] std::optional<std::chrono::microseconds> cpu_time() const override;
  [[nodiscard]] std::optional<Bytes> memory_peak() const override;
  [[nodiscard]] std::optional<Bytes> memory_now() const override;
  [[nodiscard]] std::optional<std::uint64_t> pids_peak() const override;
  [[nodiscard]] std::optional<std::uint64_t> pids_now() const override;
  [[nodiscard]] std::uint64_t oom_kills() const override;
  [[nodiscard]] std::uint64_t pids_refusals() const override;
  void reclaim() const override;

  // The groups of a process that somebody else has put into them and limits: remove() only forgets
  // them. A limit that does not hold there counts as none. Fails with kUnsupported if we cannot see
  // them.
  static Result<Cgroup> of_process(pid_t pid, const Limits& limits);

  // The processes in the group, by their numbers outside: all of them if there are fewer than
  // about a thousand.
  [[nodiscard]] std::vector<pid_t> members() const;

  // Kills every process in the group. If the kernel cannot do that in one step (v1), waits until it
  // is done.
  void kill() const;

  // Removes the group. Waits up to a second for its last process to be gone.
  Result<void> remove();

  // For another process that uses the group while this one keeps it: what that process must know,
  // and the descriptors it needs, in order. The descriptors stay ours.
  void describe(WireWriter& to) const;
  [[nodiscard]] std::vector<int> directories() const;
  // The group as that other process sees it: remove() only forgets it.
  static Result<Cgroup> described(WireReader& from, std::vector<UniqueFd> directories);

  // For the sweep of what a dead owner left at `path`: kills what is in the group, removes it.
  struct Leftover {
    bool existed = false;
    std::uint32_t processes = 0;
  };
  static Result<Leftover> remove_leftover(const std::string& path);

 private:
  // The group's directory in one hierarchy: the only one in v2, one of several in v1.
  struct Branch {
    std::string path;
    UniqueFd directory;
  };

  // A file of a counter that stays open.
  struct Held {
    int branch;
    std::string_view file;
    UniqueFd open;
  };

  static std::vector<pid_t> listed(int directory);
  // Returns how many processes were killed.
  static std::uint32_t kill_listed(int directory);
  Result<int> add_branch(Slot& slot, const std::string& parent);
  Result<void> create_v1(Slot& slot, const Limits& limits);
  Result<void> create_v2(Slot& slot, const Limits& limits);
  Result<void> write(int branch, const char* file, std::string_view value) const;
  [[nodiscard]] UniqueFd open_in(int branch, const char* file) const;
  void hold(int branch, const char* file);
  [[nodiscard]] std::optional<std::string> read(int branch, const char* file) const;
  [[nodiscard]] std::optional<std::uint64_t> read_number(int branch, const char* file) const;
  // The branch that counts guests' processes, or -1.
  [[nodiscard]] int guests_pids() const { return kernel_ ? -1 : pids_; }
  [[nodiscard]] std::uint64_t read_keyed(int branch, const char* file, std::string_view key) const;
  Result<void> set_limits(const Limits& limits);
  // Forgets limits that are larger than these, or none.
  void check_limits(const Limits& limits);
  Result<void> limit_io(Bytes rate);

  CgroupMode mode_ = CgroupMode::kNone;
  std::optional<Kernel> kernel_;
  bool ours_ = true;
  std::vector<Branch> branches_;
  std::vector<Held> held_;
  std::vector<UniqueFd> tasks_;
  std::vector<int> task_fds_;
  // Indices into branches_, or -1.
  int memory_ = -1;
  int pids_ = -1;
  int cpu_ = -1;
  int cpu_time_ = -1;
  int io_ = -1;
  bool io_limited_ = false;
};

}  // namespace glovebox
