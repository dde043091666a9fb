// SPDX-License-Identifier: Apache-2.0
// StreamRelay: the streams of all processes of one sandbox whose tier passes no descriptors.
//
// Whoever starts a process gives descriptors in any tier, and what is written to their other ends
// reaches the process: there the kernel does it, here a thread that turns bytes into frames.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/relayed_process.h"
#include "sandbox/warden_link.h"
#include "spec/warden_protocol.h"

namespace glovebox {

class StreamRelay {
 public:
  // From now on it is this that listens to the link, which must outlive it.
  static Result<std::unique_ptr<StreamRelay>> start(WardenLink& link);

  StreamRelay(const StreamRelay&) = delete;
  StreamRelay& operator=(const StreamRelay&) = delete;
  // Whoever holds the other ends finds the end of the streams.
  ~StreamRelay();

  // Relays the streams of a process that has just started on `channel`; its end is heard on the
  // channel that this returns. `descriptors` as descriptors_of() has them; they stay the caller's
  // to close. Where it fails, the process is killed. Any thread.
  Result<std::unique_ptr<WardenLink::Channel>> add(std::unique_ptr<WardenLink::Channel> channel,
                                                   warden::Streams streams,
                                                   std::span<const int> descriptors,
                                                   UntakenInput untaken = {});

  // Passes on what has come, and nothing from now on. By one thread, while none calls add().
  void stop();

  // Becomes readable when the link is lost, or this was stopped.
  [[nodiscard]] int lost_fd() const { return lost_fd_.get(); }

 private:
  struct Relayed {
    std::unique_ptr<WardenLink::Channel> channel;
    std::uint32_t heard_on = 0;  // Where its end is to be heard.
    RelayedProcess process;
    bool told = false;
  };

  StreamRelay(WardenLink& link, UniqueFd wake, UniqueFd lost);
  void run();
  // Takes what has come for it. False when nothing is left to do.
  bool serve(Relayed& relayed);

  WardenLink& link_;
  UniqueFd wake_;
  UniqueFd lost_fd_;
  std::mutex mutex_;  // Of what follows.
  std::list<Relayed> added_;
  bool stopping_ = false;
  bool lost_ = false;
  std::thread thread_;
};

}  // namespace glovebox
