// SPDX-License-Identifier: Apache-2.0
// Processes of a sandbox.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/api/caller.h"
#include "service/api/dry_run_wish.h"
#include "service/api/event_sink.h"
#include "service/api/process_feed.h"
#include "spec/command.h"

namespace glovebox {

struct ProcessRequest {
  Command command{};
  std::string user{};  // Who runs it; empty: the sandbox's own user. Others need one that is root:
                       // "user" is its guest, and other names are those of files/users.h.
  struct Terminal {
    std::uint16_t columns = 80;
    std::uint16_t rows = 24;
  };
  std::optional<Terminal> terminal{};
  bool keep_stdin = false;  // Else it reads the end of input at once.
  std::string tag{};
  std::chrono::milliseconds timeout{0};  // 0: as long as the sandbox.
  bool start_only = false;               // The feed has kStarted and nothing else.
  DryRunWish dry_run{};
  EventSink told{};  // Told when it waits for a person before it starts; may say no.
};
struct ProcessInfo {
  std::uint32_t pid = 0;  // As inside the sandbox.
  Command command{};
  std::string tag{};
  bool terminal = false;
  bool alive = true;
};

class Processes {
 public:
  virtual ~Processes() = default;

  // A process outlives its followers. A client that attaches later gets what the process says from
  // then on; the first one also gets what was kept until then. A feed is for one thread at a time,
  // and ends before this object.
  virtual Result<std::unique_ptr<ProcessFeed>> start_process(const Caller& caller,
                                                             std::string_view sandbox,
                                                             const ProcessRequest& request) = 0;
  virtual Result<std::unique_ptr<ProcessFeed>> attach_process(const Caller& caller,
                                                              std::string_view sandbox,
                                                              std::uint32_t pid) = 0;
  // Also those that ended a moment ago.
  virtual Result<std::vector<ProcessInfo>> processes(const Caller& caller,
                                                     std::string_view sandbox) = 0;
  virtual Result<void> signal_process(const Caller& caller,
                                      std::string_view sandbox,
                                      std::uint32_t pid,
                                      int signal) = 0;
  virtual Result<void> write_process(const Caller& caller,
                                     std::string_view sandbox,
                                     std::uint32_t pid,
                                     std::string_view bytes) = 0;
  virtual Result<void> close_stdin(const Caller& caller,
                                   std::string_view sandbox,
                                   std::uint32_t pid) = 0;
  virtual Result<void> resize(const Caller& caller,
                              std::string_view sandbox,
                              std::uint32_t pid,
                              ProcessRequest::Terminal size) = 0;
};

}  // namespace glovebox
