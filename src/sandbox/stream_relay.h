// SPDX-License-Identifier: Apache-2.0
// StreamRelay: the streams of all processes of one sandbox whose tier passes no descriptors.
//
// In every tier the caller that starts a process passes descriptors, and bytes written to their
// other ends reach the process. Elsewhere the kernel delivers them; here a thread turns them into
// frames.
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
  // From now on the relay listens to the link, which must outlive it.
  static Result<std::unique_ptr<StreamRelay>> start(WardenLink& link);

  StreamRelay(const StreamRelay&) = delete;
  StreamRelay& operator=(const StreamRelay&) = delete;
  // The holders of the other ends see the streams end.
  ~StreamRelay();

  // Relays the streams of a process that has just started on `channel`; its end is heard on the
  // channel that this returns. `descriptors` as descriptors_of() has them; they stay the caller's
  // to close. If it fails, the process is killed. Any thread.
  Result<std::unique_ptr<WardenLink::Channel>> add(std::unique_ptr<WardenLink::Channel> channel,
                                                   warden::Streams streams,
                                                   std::span<const int> descriptors,
                                                   UntakenInput untaken = {});

  // Passes on what has come, and nothing from now on. For one thread, while none calls add().
  void stop();

  // Becomes readable when the link is lost, or this was stopped.
  [[nodiscard]] int lost_fd() const { return lost_fd_.get(); }

 private:
  struct Relayed {
    std::unique_ptr<WardenLink::Channel> channel;
    std::uint32_t heard_on = 0;  // The key of the channel that hears its end.
    RelayedProcess process;
    bool told = false;
  };

  StreamRelay(WardenLink& link, UniqueFd wake, UniqueFd lost);
  void run();
  // Takes what has come for a process. False when nothing is left to do.
  bool serve(Relayed& relayed);

  WardenLink& link_;
  UniqueFd wake_;
  UniqueFd lost_fd_;
  std::mutex mutex_;  // Guards what follows.
  std::list<Relayed> added_;
  bool stopping_ = false;
  bool lost_ = false;
  std::thread thread_;
};

}  // namespace glovebox
