// SPDX-License-Identifier: Apache-2.0
// Egress: the proxy by which one sandbox reaches what its rules allow (glovebox-egress).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/confined/process.h"
#include "base/frame.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/sandbox.h"
#include "sandbox/spec.h"
#include "service/network/edge_credentials.h"
#include "spec/command.h"
#include "spec/connection_record.h"
#include "spec/egress_protocol.h"
#include "spec/network_rules.h"
#include "spec/network_tape.h"

namespace glovebox {

class Egress {
 public:
  // Called for each connection when it has ended, from a thread of its own.
  using Observer = std::function<void(const ConnectionRecord&)>;

  // Makes room for the proxy in a sandbox that will be made: its port, the variables that tell
  // programs about it (those that the caller has set stay), and the certificates of the host's
  // authorities.
  static void prepare(SandboxSpec& spec, const EdgeCredentials& credentials = {});

  // The variables alone.
  static void announce(Environment& env, const EdgeCredentials& credentials = {});

  // Starts it for a sandbox that was prepared, before anything runs there. Returns when the proxy
  // has given up its rights and accepts connections.
  static Result<std::unique_ptr<Egress>> start(Sandbox& sandbox,
                                               const NetworkRules& rules,
                                               const EdgeCredentials& credentials,
                                               Observer observer,
                                               bool public_only = false,
                                               const NetworkTape& tape = {});

  // As start(), with sockets that the caller keeps, so that another proxy may follow this one. If
  // this one dies without being ended, the listener takes no more connections: programs in the
  // sandbox are refused instead of waiting.
  struct Place {
    // As Sandbox::take_way_out(). They outlive the proxy.
    int listener = -1;
    int names = -1;
    std::uint32_t identity = 0;  // As Sandbox::helper_uid().
    bool public_only = false;    // As in egress::Order.
  };
  static Result<std::unique_ptr<Egress>> start(const Place& place,
                                               const NetworkRules& rules,
                                               const EdgeCredentials& credentials,
                                               Observer observer);

  Egress(const Egress&) = delete;
  Egress& operator=(const Egress&) = delete;
  ~Egress();

  // The connections that have ended, at most Verdict::kMaxConnections, the earliest first.
  struct Record {
    std::vector<ConnectionRecord> connections;
    std::uint64_t more = 0;
    NetworkRecording recording{};  // If the tape had room for one.
  };
  [[nodiscard]] Record record() const;

  // Cuts all connections, without waiting.
  void cut();

  // Cuts all connections, and waits for the last records, two seconds at most. The observer is not
  // called after that.
  void end();

 private:
  static Result<std::unique_ptr<Egress>> launch(const Place& place,
                                                bool kept,
                                                const NetworkRules& rules,
                                                const EdgeCredentials& credentials,
                                                Observer observer,
                                                const NetworkTape& tape);
  Egress(confined::Process process,
         UniqueFd control,
         int listener,
         Observer observer,
         std::uint64_t room);
  Result<void> await_ready();
  void listen();
  void receive_records();
  bool take_frames();
  bool take_recorded(const Frame& frame);

  confined::Process process_;
  const UniqueFd control_;
  const int sandbox_listener_;  // Of the caller; -1: it is the proxy's alone.
  const Observer observer_;
  const std::uint64_t room_;  // For a recording.
  std::atomic<bool> ending_ = false;
  FrameParser parser_;
  mutable std::mutex mutex_;
  Record record_;
  std::thread listener_;
};

}  // namespace glovebox
