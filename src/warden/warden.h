// SPDX-License-Identifier: Apache-2.0
// The warden's loop: the only way into a sandbox.
//
// One thread, one poll(2). It takes requests from the control socket, starts processes, passes
// their streams on, reaps them, and ends with the socket: when the other end closes it, for
// whatever reason, everything in the sandbox is killed.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/frame.h"
#include "base/unique_fd.h"
#include "warden/buffers.h"
#include "warden/root_changes.h"
#include "warden/starter.h"
#include "warden/streams.h"
#include "warden/workspace.h"

namespace glovebox::warden {

class Warden {
 public:
  // Files that describe the machine to guests, open for writing; none if the root is not ours.
  using Machine = std::array<UniqueFd, kMachineFiles>;

  // `control` is the socket to the outside; `children` a signalfd for SIGCHLD, which is blocked;
  // `archiver` the program glovebox-archiver.
  Warden(UniqueFd control,
         UniqueFd children,
         UniqueFd archiver,
         Machine machine,
         Starter starter,
         Workspace workspace,
         RootChanges root);

  void send(Reply type, std::uint32_t channel, std::string_view payload);

  // Says that it is ready, with what the walls look like; again after each rest.
  void announce(std::string report);
  // The same, at the first kMachine.
  void announce_when_described(std::string report);

  // Serves until the control socket closes, then kills everything that was started.
  void run();

 private:
  // A process that was asked for, from its start until its end was reported.
  struct Process {
    pid_t pid = 0;
    bool alone = false;
    bool waits = false;    // As StartRequest::waits.
    bool stopped = false;  // That was its end: it is killed, and only has to be reaped.
    Streams kind = Streams::kRun;
    bool claimed = true;  // Since the last kWake, by somebody who takes what comes from it.
    bool exited = false;
    bool reported = false;
    bool hit_deadline = false;
    bool settling = false;       // kSettled must be sent.
    bool tells_changes = false;  // kFiles comes before kEnded.
    int wait_status = 0;
    std::uint64_t cpu_us = 0;
    std::uint64_t max_rss = 0;
    UniqueFd timer;
    RelayedStreams streams;

    // Whether more of it may come, through streams that have nothing now.
    [[nodiscard]] bool may_write() const;
  };

  // Serves one turn. False when the control socket has closed.
  bool serve();
  bool read_control();
  void handle(const Frame& frame);
  void start(std::uint32_t channel, std::string_view payload);
  void pack(std::uint32_t channel, std::string_view payload);
  // Null if it could not be started, which has then been reported.
  Process* start_archiver(std::uint32_t channel, const std::vector<std::string>& argv);
  void set_deadline(Process& process, std::uint64_t milliseconds);
  void report_start_error(std::uint32_t channel, int error);
  void settle(std::uint32_t channel);
  void take_program(std::uint32_t channel, std::string_view payload);
  void mark();
  void report_changes(std::uint32_t channel);
  void signal(std::uint32_t channel, std::string_view payload);
  void resize(std::uint32_t channel, std::string_view payload);
  void describe_machine(std::string_view payload) const;
  void done(std::uint32_t channel, const Result<void>& result);
  void wake();

  void reap();
  // Kills all guests. A process that escapes that (Starter::misses_births()) is killed once its
  // parent, which did not escape, has been reaped, until nobody is left.
  void end_guests();
  void take_input(std::uint32_t channel, Stream stream, std::string_view bytes);
  void end_stream(std::uint32_t channel, std::string_view payload);
  void acknowledged(std::uint32_t channel, std::string_view payload);
  void finish(std::uint32_t channel, Process& process);
  void report_disk(EndedReport& report) const;
  bool flush();

  UniqueFd control_;
  UniqueFd children_;
  UniqueFd archiver_;
  Machine machine_;
  Starter starter_;
  Workspace workspace_;
  RootChanges root_;
  FrameParser parser_;
  std::vector<UniqueFd> passed_;  // Came with frames; no request has asked for them yet.
  Outgoing outgoing_;
  std::map<std::uint32_t, Process> processes_;
  std::string ready_;
  bool is_undescribed_ = false;       // To be announced at the first kMachine.
  bool resting_ = false;              // From kRest to kWake or kGoOn.
  bool ending_ = false;               // Of end_guests().
  std::uint64_t orphans_cpu_us_ = 0;  // Of processes that nobody in the sandbox waited for.
  std::set<pid_t> stopped_;           // Reported as ended, and not reaped.
};

}  // namespace glovebox::warden
