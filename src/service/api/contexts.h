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

// A Python context of every sandbox, made when it is first used.
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
  std::string dry_run_seal{};     // Not empty: it is committed only with this. No client's.
  std::string idempotency_key{};  // The same key and context: the execution that has it already.
};

// What becomes of a dry run.
struct DryRunDecision {
  bool commit = false;  // Keep what it has changed; else take it back.
  std::string seal{};   // As in its request; what a client decides has none.
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
  // One after the other in a context; waits for its turn. Returns when the sink has had the
  // verdict. kUnavailable when the sandbox died meanwhile: then the sink had none.
  virtual Result<void> execute(const Caller& caller,
                               std::string_view sandbox,
                               std::string_view context,
                               const ExecuteRequest& request,
                               const EventSink& sink) = 0;
  // Replies to the oldest request for input of what is executed, once. kConflict when there is
  // none, or when it is another than the reply names; kInvalid when the value is too large.
  virtual Result<void> reply_input(const Caller& caller,
                                   std::string_view sandbox,
                                   std::string_view context,
                                   const InputReply& reply) = 0;
  // Answers a call of a tool, once, also of a paused sandbox. kNotFound when there never was such a
  // call, kConflict when it is not open any more, kInvalid when the answer is too large or no JSON.
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
  // Notes that, by the hash of what was shown. kConflict when the call is not open any more.
  virtual Result<void> agree_to_tool(const Caller& caller,
                                     std::string_view sandbox,
                                     std::string_view context,
                                     std::string_view call,
                                     std::string_view hash) = 0;
  // As Context's. They wait for their turn for some seconds: kConflict when the context stays busy.
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
  // To the newest checkpoint where none is named. Returns which it was.
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
  // Keeps what it has changed, or takes it back. kNotFound when it does not wait any more;
  // kConflict when files are not what they were when it was shown; kRefused when it is to be
  // committed with another seal than its own.
  virtual Result<void> decide_dry_run(const Caller& caller,
                                      std::string_view sandbox,
                                      std::string_view dry_run,
                                      const DryRunDecision& decision) = 0;
  enum class NotebookFormat { kIpynb, kHtml };
  virtual Result<std::string> notebook(const Caller& caller,
                                       std::string_view sandbox,
                                       std::string_view context,
                                       NotebookFormat format) = 0;

  // Installs packages into the workspace, from what the operator offers; contexts that live already
  // see them. Events and verdict as of an execution; kUnsupported where nothing is offered.
  virtual Result<void> install_packages(const Caller& caller,
                                        std::string_view sandbox,
                                        const PackagesRequest& request,
                                        const EventSink& sink) = 0;
};

}  // namespace glovebox
