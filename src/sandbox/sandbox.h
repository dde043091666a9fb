// SPDX-License-Identifier: Apache-2.0
// Sandbox: one sealed environment, from its creation until nothing of it is left.
//
//   auto sandbox = Sandbox::create({}, {});
//   auto run = sandbox.value()->run({.argv = {"echo", "hello"}}, {});
//
// A sandbox is used by one thread at a time for run(), (un)packing, mark() and changed_files(), and
// for nothing else meanwhile. All that concerns processes beside runs, snapshots, write_file() and
// disk_use() may be called by several threads: each waits for its own answer, and holds no lock
// while it does, so that no question delays another one, pause() or kill(). Different sandboxes are
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
  // Called once when `cancel_fd` is readable: the signal that asks the program to end before it is
  // killed, which happens kCancelGrace later or when `cancel_fd` is readable again. 0, or no
  // function: it is killed at once.
  std::function<int()> cancel_signal{};
  // The strict system call policy on top of the tier's own.
  bool strict = false;
  // A zygote: it installs the filters of its forks, so it gets none of a guest's.
  bool forks_guests = false;
  // A program of ours that acts for clients: rules for where guests can write are not its.
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

  // Lends it to another process of our user's, over a connected Unix socket of sequenced packets:
  // that one uses it from now on, and here nothing may be called any more but end(), once the
  // socket says that the borrower's end is closed. Fails for what has run something, and in a tier
  // that is not ended by its first process alone (TierFeatures::own_pids).
  Result<void> lend(int socket);

  // What is lent at the other end of `lease`. It was made as `made` says; only the environment and
  // the limits of each process are the borrower's own choice. `asked` is when the wait for it
  // began. Its end is the lender's work: end() tells that one, and waits for nothing. When the
  // borrower dies it ends at once; when the lender dies it lives until the borrower is done, and
  // the next sweep takes what is left. Fails with kUnavailable when nothing is lent.
  static Result<std::unique_ptr<Sandbox>> borrow(UniqueFd lease,
                                                 const SandboxSpec& made,
                                                 std::chrono::steady_clock::time_point asked);

  // Writes it, with the memory of all its processes, into `directory`, which must be empty and for
  // our user alone. It has ended then, and end() removes what is left. Nobody else may be using it,
  // and no run may be under way. What a process has sent to a descriptor of ours can still be read
  // there. kUnsupported where the tier cannot, and then nothing has happened; after another error
  // it is lost. Without a seal it is sooner done, and nothing tells later whether the files are
  // what was saved: for whoever keeps them from everybody, and no longer than he lives.
  enum class Seal { kSealed, kNone };
  Result<void> save(const std::string& directory, Seal seal = Seal::kSealed);

  // Writes it as save() does, without a seal, and it goes on: of whoever uses it meanwhile, what is
  // for its processes waits. kUnsupported as save(); after another error it goes on, or has ended.
  Result<void> copy(const std::string& directory);

  // What save() or copy() has written, as a sandbox that goes on: of the same spec, in the tier of
  // that name.
  // Any number may be loaded from one directory, and each continues as if it were the only one. The
  // directory stays. kInvalid for what is damaged, or does not fit what this host has.
  static Result<std::unique_ptr<Sandbox>> load(const SandboxSpec& spec,
                                               std::string_view tier,
                                               const std::string& directory,
                                               Seal seal = Seal::kSealed);

  // Processes that outlive runs and came with a sandbox that was loaded. Those that nobody adopts
  // keep their streams as they are.
  using Resident = warden::ProcessesReport::Process;
  [[nodiscard]] const std::vector<Resident>& residents() const { return residents_; }
  // Its streams are `descriptors` from now on, as start_process() has them. Once for each.
  Result<std::unique_ptr<GuestProcess>> adopt(const Resident& resident,
                                              std::span<const int> descriptors);
  // Kills what came with it and is nobody's.
  void dismiss(const Resident& resident);

  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // As end(), whose error is dropped.
  ~Sandbox();

  // Runs a command to its end, or to the end of its limits. An Error means that it could not be
  // started for a reason of ours; "no such program" is an outcome (exit code 127, as in a shell).
  Result<RunOutcome> run(const Command& command, const RunOptions& options);

  // A process that outlives runs and is none of the guest's commands: an agent. Its standard output
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

  // For whoever watches processes without waiting for one of them: when events_fd() is readable,
  // hear() hands what the warden has said to those whom it concerns. False when nothing more will
  // ever come.
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

  // The warden's process, or -1 where it is none of this host. Ours.
  [[nodiscard]] int pidfd() const { return enclosure_.pidfd.get(); }
  [[nodiscard]] const Cgroup& cgroup() const { return enclosure_.cgroup; }
  // As Cgroup's.
  void hold_counters() { enclosure_.cgroup.hold_counters(); }
  // What its guests use and were refused, in any tier.
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

  // What the guest uses of its file system now; nothing is limited where there is none of its own.
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
  // disk is full, or past the bounds of spec/warden_protocol.h. Guests may run meanwhile; what they
  // write then may be in it or not.
  // By files' times, which a guest that writes through a mapping can keep (warden/contents.h);
  // `thorough` looks at every byte.
  Result<void> snapshot(std::uint32_t id, bool thorough = false);

  // Makes the workspace what it was at that snapshot: names, contents, modes and modification times
  // of files, directories and symbolic links. A file that still has its inode is written in place,
  // so that processes which have it open see what it held. When the disk has no room for it nothing
  // is changed; after another error, above all a guest that hinders it, the workspace may be in
  // between and the restore tried again. The snapshot stays. changed_files() goes on to tell what
  // differs from the mark.
  Result<void> restore(std::uint32_t id, bool thorough = false);

  // What of the workspace is not as it was at that snapshot, thoroughly; kNotFound, or `truncated`,
  // where that cannot be told.
  struct Differences {
    std::vector<FileDifference> files;  // By path, which is the guest's.
    bool truncated = false;
  };
  Result<Differences> compare(std::uint32_t snapshot);
  enum class Version { kThen, kNow };
  // The content of a regular file, or where a link leads, then or now; nothing where there is none,
  // or one of more than `max` bytes (at most warden::kMaxVersion).
  Result<std::optional<std::string>> read_version(std::uint32_t snapshot,
                                                  const std::string& path,
                                                  Version version,
                                                  std::size_t max);

  // The guest's processes, as the host sees them: nothing where the kernel is another one.
  [[nodiscard]] std::vector<GuestSeen> seen_processes() const;
  // Kills all that are not among these; kUnavailable when they do not end.
  Result<void> end_others(const std::vector<GuestSeen>& kept);

  // A number for a snapshot that nobody has been given before.
  std::uint32_t unused_number() { return ++last_number_; }

  // Forgets a snapshot and frees what it alone held.
  Result<void> drop_snapshot(std::uint32_t id);

  // Changes the limits of the cgroup: memory, processors, pids and I/O, and what processes that
  // start later see of them. The size of the file system and its number of inodes stay.
  Result<void> set_limits(const Limits& limits);

  // False once the sandbox has ended: it was killed, because its guest did not end in any other
  // way, or its warden was.
  [[nodiscard]] bool alive() const;

  // Kills everything in it, at once and from any thread, whatever others do with it: those find it
  // dead. What is left of it goes with end().
  void kill();

  // To be called every 100 ms or so while something of the guest's runs: kills processes that hold
  // too much of what the kernel charges to nobody (hoard_watch.h). Any thread may. Returns what it
  // has killed for.
  std::optional<Hoard> end_hoarders();

  // Whether that is what limits the memory of its processes, because no cgroup does.
  [[nodiscard]] bool watches_memory() const;
  // How often that has happened.
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
  // The error, or in its place what the program that builds the walls says of its failure.
  [[nodiscard]] Error with_complaints(Error error) const;
  // Of a tier without mounts, and says so.
  void drop_what_takes_mounts(PlaceRules& rules, std::string_view done);
  // Sends a question, and waits for its answer of this type, which `take` is given.
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
  // What is to be started for a guest's command.
  [[nodiscard]] Result<Command> runnable(const Command& command, const RunOptions& options) const;
  Result<std::unique_ptr<GuestProcess>> start_beside(warden::StartRequest request,
                                                     std::span<const int> passed);

  friend class Run;

  Enclosure enclosure_;
  WardenLink link_;
  std::unique_ptr<StreamRelay> relay_;  // Where no descriptors can be passed.
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
  // Of a borrowed one: what tells the lender that we are done, and the lock of the lender's slot,
  // so that no sweep takes the sandbox for a leftover when the lender dies.
  UniqueFd lease_;
  UniqueFd slot_lock_;
  HoardWatch hoards_;
  std::atomic<bool> used_ = false;  // Something ran in it; before that all counters are zero.
  std::atomic<bool> dead_ = false;
  bool ended_ = false;
};

}  // namespace glovebox
