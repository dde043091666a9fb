// SPDX-License-Identifier: Apache-2.0
// Contexts: live interpreters in a sandbox, and the packages that they use.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "context/request_box.h"
#include "service/api/caller.h"
#include "service/api/dry_run_wish.h"
#include "service/api/event_sink.h"
#include "spec/code_place.h"
#include "spec/command.h"
#include "spec/limit_fields.h"
#include "spec/tool.h"

namespace glovebox {

// Every sandbox has this Python context, made when it is first used.
inline constexpr std::string_view kDefaultContext = "default";

struct ContextInfo {
  std::string id{};
  std::string language{};
  std::string cwd{};
  bool alive = true;
  bool busy = false;
};
struct ContextRequest {
  std::string language = "python";
  std::string cwd{};  // Empty: the workspace.
  Environment env{};
};

struct ExecuteRequest {
  std::string code{};
  Environment env{};
  LimitWishes limits{};
  bool recover = false;
  bool store_history = true;
  bool allow_input = false;       // input() asks by an event; else it finds the end of input.
  ToolOffer tools{};              // What it may call, by events that ask for an answer.
  DryRunWish dry_run{};           // Its tools are refused then.
  std::string dry_run_seal{};     // If set, it is committed only with this. Never a client's.
  std::string idempotency_key{};  // The same key and context get the execution that has it.
};

// What becomes of a dry run.
struct DryRunDecision {
  bool commit = false;  // Keep what it has changed; else take it back.
  std::string seal{};   // As in its request; a client's decision has none.
};

// What code that is executed with `allow_input` reads as its next line.
struct InputReply {
  static constexpr std::size_t kMaxValue = RequestBox::kMaxLine;

  std::optional<std::string> value{};      // Absent: the end of input.
  std::optional<std::uint64_t> request{};  // Of the event; absent: whatever is asked for now.
};

// What a tool that the code called has returned.
struct ToolReply {
  std::string call{};  // Its id, from the event.
  ToolAnswer answer{};
};

struct PackagesRequest {
  std::vector<std::string> packages{};  // As parse_packages() takes them.
  LimitWishes limits{};                 // Five minutes when they do not say.
};

class Contexts {
 public:
  virtual ~Contexts() = default;

  virtual Result<ContextInfo> create_context(const Caller& caller,
                                             std::string_view sandbox,
                                             const ContextRequest& request) = 0;
  // Oldest first.
  virtual Result<std::vector<ContextInfo>> contexts(const Caller& caller,
                                                    std::string_view sandbox) = 0;
  virtual Result<void> delete_context(const Caller& caller,
                                      std::string_view sandbox,
                                      std::string_view context) = 0;
  virtual Result<void> restart_context(const Caller& caller,
                                       std::string_view sandbox,
                                       std::string_view context) = 0;
  virtual Result<void> interrupt(const Caller& caller,
                                 std::string_view sandbox,
                                 std::string_view context) = 0;
  // One after the other in a context; waits for its turn. Returns once the sink has received the
  // verdict. kUnavailable if the sandbox died meanwhile: then the sink received none.
  virtual Result<void> execute(const Caller& caller,
                               std::string_view sandbox,
                               std::string_view context,
                               const ExecuteRequest& request,
                               const EventSink& sink) = 0;
  // Answers the oldest request for input by the code that is executed, once. kConflict if there is
  // none, or if the reply names another one; kInvalid if the value is too large.
  virtual Result<void> reply_input(const Caller& caller,
                                   std::string_view sandbox,
                                   std::string_view context,
                                   const InputReply& reply) = 0;
  // Answers a tool call, once, even in a paused sandbox. kNotFound if there never was such a call,
  // kConflict if it is no longer open, kInvalid if the answer is too large or not JSON.
  virtual Result<void> reply_tool(const Caller& caller,
                                  std::string_view sandbox,
                                  std::string_view context,
                                  const ToolReply& reply) = 0;
  // How that call stands. What a person has agreed to about it stays with it while it is open,
  // whatever becomes of the daemon.
  virtual Result<ToolWait> tool_wait(const Caller& caller,
                                     std::string_view sandbox,
                                     std::string_view context,
                                     std::string_view call) = 0;
  // Notes that agreement, by the hash of what was shown. kConflict if the call is no longer open.
  virtual Result<void> agree_to_tool(const Caller& caller,
                                     std::string_view sandbox,
                                     std::string_view context,
                                     std::string_view call,
                                     std::string_view hash) = 0;
  // As in Context. They wait some seconds for their turn: kConflict if the context stays busy.
  virtual Result<Completion> complete(const Caller& caller,
                                      std::string_view sandbox,
                                      std::string_view context,
                                      const CodePlace& place) = 0;
  virtual Result<Inspection> inspect(const Caller& caller,
                                     std::string_view sandbox,
                                     std::string_view context,
                                     const CodePlace& place,
                                     int detail) = 0;
  virtual Result<std::uint32_t> checkpoint(const Caller& caller,
                                           std::string_view sandbox,
                                           std::string_view context) = 0;
  // To the newest checkpoint if none is named. Returns the checkpoint that it went back to.
  virtual Result<std::uint32_t> rollback(const Caller& caller,
                                         std::string_view sandbox,
                                         std::string_view context,
                                         std::optional<std::uint32_t> checkpoint) = 0;
  virtual Result<ContextInfo> fork_context(const Caller& caller,
                                           std::string_view sandbox,
                                           std::string_view context,
                                           std::uint32_t checkpoint) = 0;
  // Dry runs of a sandbox that wait for a decision, each as JSON text: there is one at most, and
  // until it is decided nothing else may change the sandbox (kConflict).
  virtual Result<std::vector<std::string>> dry_runs(const Caller& caller,
                                                    std::string_view sandbox) = 0;
  // Keeps what it has changed, or takes it back. kNotFound if it no longer waits; kConflict if
  // files are not what they were when it was shown; kRefused if it is committed with a seal that is
  // not its own.
  virtual Result<void> decide_dry_run(const Caller& caller,
                                      std::string_view sandbox,
                                      std::string_view dry_run,
                                      const DryRunDecision& decision) = 0;
  enum class NotebookFormat { kIpynb, kHtml };
  virtual Result<std::string> notebook(const Caller& caller,
                                       std::string_view sandbox,
                                       std::string_view context,
                                       NotebookFormat format) = 0;

  // Installs packages into the workspace, from what the operator offers; live contexts see them,
  // too. Events and verdict are those of an execution; kUnsupported if nothing is offered.
  virtual Result<void> install_packages(const Caller& caller,
                                        std::string_view sandbox,
                                        const PackagesRequest& request,
                                        const EventSink& sink) = 0;
};

}  // namespace glovebox
