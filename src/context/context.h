// SPDX-License-Identifier: Apache-2.0
// Context: a live interpreter in a sandbox. It keeps variables between executions.
//
//   auto context = Context::start(*sandbox, {.agent = command});
//   auto execution = context.value()->execute({.code = "1 + 1"});
//
// What the guest can do to it: end it, hang it, or make it lie about itself. Limits and usage come
// from the kernel, never from the agent.
//
// A context is used by one thread at a time. Contexts of one sandbox do not wait for each other.
// Limits of time stand still while the sandbox is paused.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "context/agent_link.h"
#include "context/agent_process.h"
#include "context/agent_protocol.h"
#include "context/checkpoint.h"
#include "context/request_box.h"
#include "context/zygote.h"
#include "sandbox/run_outcome.h"
#include "sandbox/sandbox.h"
#include "spec/event.h"
#include "spec/tool.h"
#include "spec/verdict.h"

namespace glovebox {

struct ContextSpec {
  std::string language = "python";
  std::vector<std::string> agent;  // The command that starts it; unused by a fork.
  Environment env;                 // On top of the sandbox's own.
  std::string cwd;                 // Empty: the workspace.
};

// Where the things that an observer was told go next, if that may be slower than the guest. It
// holds the guest up, but none of its limits. What comes together is passed on together; what is
// left at the end of an execution is passed on by its owner.
class Outlet {
 public:
  Outlet() = default;
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  virtual ~Outlet() = default;

  // Whether it has enough to do: if so, nothing more is taken from the guest until it has passed
  // some of it on.
  [[nodiscard]] virtual bool full() const = 0;

  // A descriptor to wait on until it can be written to, if there is something to pass on; else -1.
  [[nodiscard]] virtual int waits_for() const = 0;

  // Passes on what it can now. Does not wait.
  virtual void pass_on() = 0;
};

struct ExecuteOptions {
  std::string_view code;
  Environment env{};  // For this execution.
  // Of these, `wall`, `cpu_time` and `output` hold for the execution; the others are the sandbox's.
  Limits limits{};
  bool silent = false;  // No result is shown and nothing is counted.
  bool store_history = true;
  // If the interpreter does not survive this, it and the workspace are put back to just before.
  bool recover = false;
  int cancel_fd = -1;  // Becoming readable interrupts; -1 for never.
  // Called within execute(), in order. Output is passed on whole.
  std::function<void(const Event&)> observer{};
  Outlet* outlet = nullptr;  // Of what the observer was told; may be absent.
  // Whether a result of that many bytes may be kept, besides the bounds that always hold.
  std::function<bool(std::size_t)> may_keep{};
  // Where the code's requests are answered: the observer hears about each after it was opened
  // there, and may answer at once. Absent: input() finds the end of input, and tools are refused.
  RequestBox* requests = nullptr;
  bool allow_input = false;  // Without it, input() finds the end of input all the same.
  // What the code may call; kUnsupported if the language's agent cannot. Time in which a call is
  // open does not count towards the limit of time, up to `tools.wait`.
  ToolOffer tools{};
  // If not empty, no tool is called, and code that calls one gets this as its error.
  std::string tools_refused{};
};

// A call of a tool that was not made.
struct RefusedCall {
  std::string name;
  std::string arguments;  // JSON text, cut to kMaxArguments.
  static constexpr std::size_t kMaxArguments = 1'024;
  static constexpr std::size_t kMostKept = 100;
};

// The end of one execution.
struct Execution : RunOutcome {
  int execution_count = 0;
  std::vector<Event> results;  // kDisplay and kResult, in order; bounded.
  std::optional<GuestError> error;
  std::vector<RefusedCall> refused_calls;  // Because of `tools_refused`; the first of them.
  bool recovered = false;                  // The interpreter was put back to just before.
};

// What is needed to have a context again in a sandbox that was saved and loaded.
struct RestingContext {
  std::string language;
  std::string version;
  std::vector<std::string> features;
  std::uint32_t process = 0;       // As the warden calls it.
  std::uint32_t next_channel = 1;  // The next one to name a request to it.
};

class Context {
 public:
  // Starts an agent in the sandbox by its command.
  static Result<std::unique_ptr<Context>> start(Sandbox& sandbox, const ContextSpec& spec);

  // Forks it from the zygote in whose realm the sandbox was made.
  static Result<std::unique_ptr<Context>> fork(Sandbox& sandbox,
                                               Zygote& zygote,
                                               const ContextSpec& spec);

  // Call it before the sandbox is saved. Checkpoints are not saved with it, nor is what came
  // between executions. kUnsupported for a context that the sandbox's warden does not know,
  // kConflict for one whose interpreter has ended.
  [[nodiscard]] Result<RestingContext> rest() const;

  // The same interpreter, with its memory, in a sandbox that was loaded. It gets new random numbers
  // if its language can: the sandbox may have been loaded more than once. kNotFound if it is not
  // there, or has ended.
  static Result<std::unique_ptr<Context>> wake(Sandbox& sandbox, const RestingContext& resting);

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();  // Kills it.

  // An Error means that we could not do it; whatever the guest did is in the Execution. If the
  // context did not survive, alive() is false afterwards.
  Result<Execution> execute(const ExecuteOptions& options);

  // Asks for something other than an execution; returns the JSON text of the answer. Waits for
  // `patience` at most. Events that come meanwhile are kept for the next execution, as far as there
  // is room. kConflict if the interpreter has ended, kUnavailable if it does not respond.
  Result<std::string> ask(agent::Request request,
                          std::string_view json,
                          std::chrono::milliseconds patience = std::chrono::seconds(5));

  // What the interpreter knows about the name at a place in code. kUnsupported if the language's
  // agent cannot say, kConflict if it fails, kInvalid as in cursor_of(). `detail` 1 asks for more
  // than usual, such as the source. This may run code of the guest's; that is interrupted after
  // `patience`, which is kUnavailable.
  Result<Completion> complete(const CodePlace& place, std::chrono::milliseconds patience);
  Result<Inspection> inspect(const CodePlace& place,
                             int detail,
                             std::chrono::milliseconds patience);

  // What the interpreter says of its variables. Representing a value may run code of the guest's,
  // which is interrupted after `patience`, as in complete().
  Result<std::vector<agent::Variable>> variables(std::chrono::milliseconds patience);

  // Leaves a copy of the interpreter's memory, and of the workspace, to go back to. Returns its id.
  // What a process cannot take along is named in `not_carried`: its threads, and files that it has
  // open for writing. kUnsupported if the language's agent cannot be copied, and in sandboxes that
  // share their pids with the host. `thorough` as in Sandbox::snapshot().
  Result<std::uint32_t> checkpoint(std::vector<std::string>* not_carried = nullptr,
                                   bool thorough = false);

  // Puts memory and workspace back to how they were at the checkpoint, even if the interpreter has
  // crashed since. The checkpoint stays. What the guest has started since is killed. `stopped` is
  // called when the interpreter has ended and nothing has been restored yet; if it fails, the
  // context stays without an interpreter, and the rollback may be tried again.
  Result<void> rollback(std::uint32_t checkpoint,
                        const std::function<Result<void>()>& stopped = {},
                        bool thorough = false);
  [[nodiscard]] std::optional<std::uint32_t> newest_checkpoint() const;

  // Another context with the memory of a checkpoint, in this sandbox; its working directory is a
  // copy of the workspace as it is now. kExhausted when the copy has no room or takes minutes.
  Result<std::unique_ptr<Context>> fork_from(std::uint32_t checkpoint);

  Result<void> drop(std::uint32_t checkpoint);

  // As drop(), but its files stay in the sandbox until the next release(): a checkpoint that is
  // made before then costs only what has changed.
  Result<void> release(std::uint32_t checkpoint);

  [[nodiscard]] bool alive() const { return !ended_; }
  [[nodiscard]] bool can(std::string_view feature) const;
  [[nodiscard]] const std::string& language() const { return language_; }
  [[nodiscard]] const std::string& version() const { return ready_.version; }
  [[nodiscard]] Sandbox& sandbox() { return sandbox_; }

 private:
  using Clock = std::chrono::steady_clock;
  friend class Executing;

  struct Streams {
    UniqueFd out;
    UniqueFd err;
  };

  Context(Sandbox& sandbox, std::string language, UniqueFd socket, Streams streams);
  Result<void> await_ready();
  void leave_out_what_cannot_be();
  Result<void> await_reply(std::uint32_t channel, Clock::time_point deadline, std::string& reply);
  void keep_for_later(const AgentLink::Message& message);
  // Fails with kUnsupported.
  [[nodiscard]] Result<void> require(std::string_view feature) const;
  void end_process();
  Result<Checkpoint*> find(std::uint32_t checkpoint);

  Sandbox& sandbox_;
  std::string language_;
  AgentLink link_;
  Streams streams_;  // What the agent's process and its children write, bypassing its language.
  std::unique_ptr<AgentProcess> process_;
  agent::Ready ready_;
  std::map<std::uint32_t, Checkpoint> checkpoints_;
  std::optional<std::uint32_t> kept_snapshot_;  // Of the last release().
  std::uint32_t next_channel_ = 1;
  std::deque<Event> between_;  // Those that came between executions.
  std::size_t between_size_ = 0;
  bool ended_ = false;
};

// The verdict of an execution, with the walls and limits of its sandbox.
Verdict make_verdict(Context& context, Execution execution, const Limits& limits);

}  // namespace glovebox
