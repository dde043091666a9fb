// SPDX-License-Identifier: Apache-2.0
// Sandbox: one sealed environment, from its creation until nothing of it is left.
//
//   auto sandbox = Sandbox::create({}, {});
//   auto run = sandbox.value()->run({.argv = {"echo", "hello"}}, {});
//
// A sandbox is used by one thread at a time for run(), (un)packing, mark() and changed_files(), and
// for nothing else meanwhile. Several threads may call the functions for processes beside runs, for
// snapshots, write_file() and disk_use(): each waits for its own answer, and holds no lock
// meanwhile, so no question delays another one, pause() or kill(). Different sandboxes are
// independent. What runs in it is confined by the kernel, not by this object: if our process dies,
// the sandbox dies with it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/guest_clock.h"
#include "sandbox/guest_process.h"
#include "sandbox/guests_seen.h"
#include "sandbox/hoard_watch.h"
#include "sandbox/output.h"
#include "sandbox/run_outcome.h"
#include "sandbox/tiers/tier.h"
#include "sandbox/warden_link.h"
#include "spec/command.h"
#include "spec/file_difference.h"
#include "spec/limits.h"
#include "spec/place_rules.h"
#include "spec/verdict.h"

namespace glovebox {

class StreamRelay;

// What to tell somebody while a guest runs. Called from within run(), in order.
struct RunObserver {
  std::function<void()> started;
  std::function<void(std::string_view)> out;  // Raw pieces of standard output, all of it.
  std::function<void(std::string_view)> err;
};

struct RunOptions {
  Limits limits;
  // Where standard input comes from: a descriptor that stays the caller's, or -1 for none. It may
  // be anything that poll(2) takes, or a regular file.
  int stdin_fd = -1;
  // Becoming readable cancels the run; -1 for never.
  int cancel_fd = -1;
  // Called once when `cancel_fd` is readable. Returns the signal that asks the program to end; it
  // is killed kCancelGrace later, or when `cancel_fd` is readable again. 0, or no function: it is
  // killed at once.
  std::function<int()> cancel_signal{};
  // The strict system call policy on top of the tier's own.
  bool strict = false;
  // A zygote: it installs the filters of its forks, so it gets none of a guest's.
  bool forks_guests = false;
  // A program of ours that acts for clients: rules for where guests can write do not apply to it.
  bool acts_for_clients = false;
  // False leaves background processes alive for the next run.
  bool kill_rest = true;
  RunObserver observer{};
};

class Sandbox {
 public:
  // Builds the walls and waits until the warden has said that they stand. When a tier turns out
  // not to work here, the next one at or above the caller's floor is tried; `notes()` says so.
  static Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec, const TierWish& wish);

  // Lends it to another process of our user's, over a connected Unix socket of sequenced packets.
  // From now on only the borrower uses it; here the only call allowed is end(), once the socket
  // says that the borrower's end is closed. Fails if something has run in the sandbox, and in a
  // tier where killing the first process does not end all of it (TierFeatures::own_pids).
  Result<void> lend(int socket);

  // Takes the sandbox lent at the other end of `lease`. It was made as `made` says; the borrower
  // chooses only the environment and the limits of each process. `asked` is when the wait for it
  // began. The lender ends it: end() tells the lender, and waits for nothing. When the borrower
  // dies, the sandbox ends at once; when the lender dies, it lives until the borrower is done, and
  // the next sweep takes what is left. Fails with kUnavailable when nothing is lent.
  static Result<std::unique_ptr<Sandbox>> borrow(UniqueFd lease,
                                                 const SandboxSpec& made,
                                                 std::chrono::steady_clock::time_point asked);

  // Writes it, with the memory of all its processes, into `directory`, which must be empty and for
  // our user alone. The sandbox has ended then, and end() removes what is left. Nobody else may be
  // using it, and no run may be under way. What a process has sent to a descriptor of ours can
  // still be read there. kUnsupported if the tier cannot save, and then nothing has happened; after
  // another error the sandbox is lost. Without a seal this is faster, but nothing tells later
  // whether the files are what was saved: use it for files that nobody else can reach and that do
  // not outlive our process.
  enum class Seal { kSealed, kNone };
  Result<void> save(const std::string& directory, Seal seal = Seal::kSealed);

  // Writes it as save() does, without a seal, and the sandbox continues. What others send to its
  // processes meanwhile waits. kUnsupported as save(); after another error it continues, or has
  // ended.
  Result<void> copy(const std::string& directory);

  // Continues what save() or copy() has written, as a sandbox of the same spec, in the tier of that
  // name. Any number may be loaded from one directory, and each continues as if it were the only
  // one. The directory stays. kInvalid if the files are damaged, or do not fit this host.
  static Result<std::unique_ptr<Sandbox>> load(const SandboxSpec& spec,
                                               std::string_view tier,
                                               const std::string& directory,
                                               Seal seal = Seal::kSealed);

  // Processes that outlive runs and came with a sandbox that was loaded. If nobody adopts one, its
  // streams stay as they are.
  using Resident = warden::ProcessesReport::Process;
  [[nodiscard]] const std::vector<Resident>& residents() const { return residents_; }
  // Its streams are `descriptors` from now on, as start_process() has them. Once for each.
  Result<std::unique_ptr<GuestProcess>> adopt(const Resident& resident,
                                              std::span<const int> descriptors);
  // Kills a process that came with the sandbox and that nobody adopts.
  void dismiss(const Resident& resident);

  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // As end(), whose error is dropped.
  ~Sandbox();

  // Runs a command to its end, or to the end of its limits. An Error means that it could not be
  // started for a reason of ours; "no such program" is an outcome (exit code 127, as in a shell).
  Result<RunOutcome> run(const Command& command, const RunOptions& options);

  // A process that outlives runs and is not a command of the guest's: an agent. Its standard output
  // and error and its descriptor 3 are the caller's (that order); they stay the caller's to close.
  Result<std::unique_ptr<GuestProcess>> start_detached(const Command& command,
                                                       const RunOptions& options,
                                                       const std::array<int, 3>& descriptors);

  // A process that outlives runs and is a command of the guest's. Its standard input, output and
  // error are the caller's (that order); they stay the caller's to close.
  Result<std::unique_ptr<GuestProcess>> start_process(const Command& command,
                                                      const RunOptions& options,
                                                      const std::array<int, 3>& descriptors);

  // Likewise, in a terminal (GuestProcess::terminal()), which controls its session.
  Result<std::unique_ptr<GuestProcess>> start_in_terminal(const Command& command,
                                                          const RunOptions& options,
                                                          warden::TerminalSize size);

  // Stops every process but the warden, and the clock by which their time is limited, until
  // resume(). Returns before they have stopped.
  void pause();
  void resume();
  [[nodiscard]] bool paused() const { return clock_.stopped(); }
  [[nodiscard]] const GuestClock& clock() const { return clock_; }

  // The namespaces of this sandbox, for others to be made in it. Requires: made as a realm.
  [[nodiscard]] Result<Realm> realm() const;

  // For a thread that watches processes without waiting for one of them: when events_fd() is
  // readable, hear() passes what the warden has said to the objects it concerns. False when nothing
  // more will ever come.
  [[nodiscard]] int events_fd() const;
  bool hear();

  [[nodiscard]] const Limits& limits() const { return limits_; }
  // What every process of it gets.
  [[nodiscard]] Environment environment() const;

  // The sockets that SandboxSpec::egress_port asked for. Once.
  [[nodiscard]] WayOut take_way_out() { return std::move(enclosure_.way_out); }
  // As root, a user id that no guest has, for a program that works for this sandbox outside; else
  // 0.
  [[nodiscard]] uid_t helper_uid() const;

  // The warden's process, or -1 if it is not a process of this host. Ours.
  [[nodiscard]] int pidfd() const { return enclosure_.pidfd.get(); }
  [[nodiscard]] const Cgroup& cgroup() const { return enclosure_.cgroup; }
  // As Cgroup::hold_counters().
  void hold_counters() { enclosure_.cgroup.hold_counters(); }
  // What its guests use, and what they were refused, in any tier.
  [[nodiscard]] const Meter& meter() const {
    return enclosure_.meter ? *enclosure_.meter : enclosure_.cgroup;
  }

  // Writes one file below the workspace, with its directories.
  Result<void> write_file(std::string_view path, std::string_view bytes, std::uint32_t mode);

  // Feeds a tar archive, plain or gzip, from `archive_fd` and unpacks it below `directory`.
  Result<void> unpack(std::string_view directory, int archive_fd);

  // Writes a tar archive of the files that changed since mark() to `sink`, at most `max` bytes of
  // content. What it holds comes from the guest: read it as hostile.
  Result<void> pack_changes(Bytes max, const std::function<Result<void>(std::string_view)>& sink);

  // What the guest uses of its file system now; nothing is limited if it has none of its own.
  struct DiskUse {
    Bytes bytes;
    std::uint64_t inodes = 0;
  };
  Result<DiskUse> disk_use();

  // Remembers the workspace as it is; changed_files() compares with that.
  Result<void> mark();
  struct Changes {
    std::vector<FileChange> files;
    bool truncated = false;
  };
  Result<Changes> changed_files();

  // Keeps the workspace (not /tmp) as it is, under a number of the caller's, inside the sandbox: it
  // counts against the limits of disk and memory there, but files that have not changed since
  // another snapshot cost nothing again. Fails without a trace when the number is taken, when the
  // disk is full, or past the bounds of spec/warden_protocol.h. Guests may run meanwhile; the
  // snapshot may or may not contain what they write then.
  // Finds changes by files' times, which a guest that writes through a mapping can keep
  // (warden/contents.h); `thorough` looks at every byte.
  Result<void> snapshot(std::uint32_t id, bool thorough = false);

  // Makes the workspace what it was at that snapshot: names, contents, modes and modification times
  // of files, directories and symbolic links. A file that still has its inode is written in place,
  // so that processes which have it open see its old content. If the disk has no room, nothing is
  // changed; after another error, above all a guest that hinders it, the workspace may be half
  // restored, and the restore can be tried again. The snapshot stays. changed_files() still tells
  // what differs from the mark.
  Result<void> restore(std::uint32_t id, bool thorough = false);

  // How the workspace differs from that snapshot, thoroughly; kNotFound, or `truncated`, if that
  // cannot be told.
  struct Differences {
    std::vector<FileDifference> files;  // By path, which is the guest's.
    bool truncated = false;
  };
  Result<Differences> compare(std::uint32_t snapshot);
  enum class Version { kThen, kNow };
  // The content of a regular file, or where a link leads, then or now; nothing if there is none,
  // or if it has more than `max` bytes (at most warden::kMaxVersion).
  Result<std::optional<std::string>> read_version(std::uint32_t snapshot,
                                                  const std::string& path,
                                                  Version version,
                                                  std::size_t max);

  // The guest's processes, as the host sees them; nothing if they run on another kernel.
  [[nodiscard]] std::vector<GuestSeen> seen_processes() const;
  // Kills all processes that are not among `kept`; kUnavailable if they do not end.
  Result<void> end_others(const std::vector<GuestSeen>& kept);

  // A number for a snapshot that nobody has been given before.
  std::uint32_t unused_number() { return ++last_number_; }

  // Forgets a snapshot and frees what it alone held.
  Result<void> drop_snapshot(std::uint32_t id);

  // Changes the limits of the cgroup: memory, processors, pids and I/O, and what processes that
  // start later see of them. The size of the file system and its number of inodes stay.
  Result<void> set_limits(const Limits& limits);

  // False once the sandbox has ended: it was killed because its guest did not end in any other
  // way, or its warden was killed.
  [[nodiscard]] bool alive() const;

  // Kills everything in it, at once and from any thread, even while other threads use it: they find
  // it dead. end() removes what is left of it.
  void kill();

  // Call it every 100 ms or so while something of the guest's runs: kills processes that hold
  // too much of what the kernel charges to nobody (hoard_watch.h). Any thread may call it. Returns
  // what it has killed for.
  std::optional<Hoard> end_hoarders();

  // Whether end_hoarders() limits the memory of its processes, because no cgroup does.
  [[nodiscard]] bool watches_memory() const;
  // How often end_hoarders() has enforced each limit.
  [[nodiscard]] HoardWatch::Kills hoard_kills() const { return hoards_.kills(); }

  // Ends everything in the sandbox and removes every trace of it on the host. Nobody else may be
  // using it.
  Result<void> end();

  [[nodiscard]] std::string_view id() const { return id_; }
  [[nodiscard]] std::string_view tier() const { return tier_; }
  [[nodiscard]] const TierFeatures& features() const { return enclosure_.features; }
  [[nodiscard]] const Walls& walls() const { return walls_; }
  [[nodiscard]] const std::vector<Timing>& timings() const { return timings_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  // Which of `limits` the kernel enforces here, with their values.
  [[nodiscard]] std::vector<LimitReport> limit_reports(const Limits& limits) const;

 private:
  Sandbox(Enclosure enclosure, std::string_view tier, const SandboxSpec& spec);

  Result<void> await_walls();
  Result<void> relay_streams();
  // The error, or in its place what the program that builds the walls says about its failure.
  [[nodiscard]] Error with_complaints(Error error) const;
  // For a tier without mounts; adds a note about what it drops.
  void drop_what_takes_mounts(PlaceRules& rules, std::string_view done);
  // Sends a question, waits for its answer of this type, and gives it to `take`.
  template <typename Take>
  auto ask(warden::Request request,
           std::string_view payload,
           warden::Reply type,
           std::chrono::seconds patience,
           const Take& take) -> decltype(take(std::string_view()));
  Result<void> ask_done(warden::Request request,
                        std::string_view payload,
                        std::chrono::seconds patience);
  void signal_everything(int signal);
  [[nodiscard]] GuestPlace place() const;
  // What to start for a guest's command.
  [[nodiscard]] Result<Command> runnable(const Command& command, const RunOptions& options) const;
  Result<std::unique_ptr<GuestProcess>> start_beside(warden::StartRequest request,
                                                     std::span<const int> passed);

  friend class Run;

  Enclosure enclosure_;
  WardenLink link_;
  std::unique_ptr<StreamRelay> relay_;  // If no descriptors can be passed.
  std::string id_;
  std::string tier_;
  Environment env_;
  Limits limits_;
  PlaceRules write_rules_;
  PlaceRules read_rules_;
  Walls walls_;
  std::vector<Timing> timings_;
  std::vector<std::string> notes_;
  GuestClock clock_;
  std::vector<Resident> residents_;
  std::atomic<std::uint32_t> last_number_ = 0;
  // If it is borrowed: the socket that tells the lender that we are done, and the lock of the
  // lender's slot, so that no sweep takes the sandbox for a leftover when the lender dies.
  UniqueFd lease_;
  UniqueFd slot_lock_;
  HoardWatch hoards_;
  std::atomic<bool> used_ = false;  // Something ran in it; before that all counters are zero.
  std::atomic<bool> dead_ = false;
  bool ended_ = false;
};

}  // namespace glovebox
