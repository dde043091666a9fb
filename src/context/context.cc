// SPDX-License-Identifier: Apache-2.0
#include "context/context.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "context/executing.h"
#include "spec/json/tool_json.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// Slow runtimes on a busy machine; and where processors are emulated.
constexpr auto kStartPatience = 60s;
constexpr auto kEmulatedStartPatience = 300s;
// For the copy of a workspace, in the sandbox's time; and for its end after it was killed.
constexpr auto kCopyPatience = 120s;
constexpr auto kLastBreath = 5s;
// For a process that was killed.
constexpr auto kEndPatience = 10s;
// How much of our memory what came between executions may take.
constexpr std::size_t kMostBetween = 256UL << 10;
// The names by which agents say what they can do.
constexpr std::string_view kCheckpoint = "checkpoint";
constexpr std::string_view kRenew = "renew";

// An agent that the warden started.
class StartedProcess : public AgentProcess {
 public:
  explicit StartedProcess(std::unique_ptr<GuestProcess> process) : process_(std::move(process)) {}

  Result<void> signal(int signal) override {
    process_->signal(signal);
    return {};
  }
  [[nodiscard]] std::array<pollfd, 2> watch() override { return process_->watch(); }
  [[nodiscard]] std::optional<std::uint32_t> warden_channel() const override {
    return process_->channel();
  }
  void settle() override { process_->settle(); }
  bool settled() override { return process_->settled(); }
  std::optional<int> wait_status() override {
    const auto& report = process_->ended();
    return report ? std::optional(report->wait_status) : std::nullopt;
  }

 private:
  std::unique_ptr<GuestProcess> process_;
};

struct Ends {
  UniqueFd ours;
  UniqueFd theirs;
};

Result<Ends> make_socket() {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  return Ends{UniqueFd(pair[0]), UniqueFd(pair[1])};
}

Result<Ends> make_stream() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error::from_errno("pipe");
  }
  (void)::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// A pipe that is read by us needs no room of its own for what the agent sends by frames.
struct Connections {
  Ends channel;
  Ends out;
  Ends err;
};

Result<Connections> connect() {
  Connections made;
  made.channel = GB_TRY(make_socket());
  made.out = GB_TRY(make_stream());
  made.err = GB_TRY(make_stream());
  return made;
}

// Runs a program of the sandbox beside everything else, with limits of its own: when its time is
// over, it alone is killed. Fails with what it said.
Result<void> run_beside(Sandbox& sandbox, std::vector<std::string> argv) {
  Ends err = GB_TRY(make_stream());
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) {
    return Error::from_errno("open /dev/null");
  }
  RunOptions options{.limits = sandbox.limits(), .kill_rest = false};
  options.limits.cpu_time = {};
  const std::array<int, 3> streams{null.get(), null.get(), err.theirs.get()};
  const auto process = GB_TRY(
      sandbox.start_process({.argv = std::move(argv), .env = {}, .cwd = {}}, options, streams));
  err.theirs.reset();
  const auto deadline = sandbox.clock().now() + kCopyPatience;
  bool killed = false;
  std::string said;
  while (!process->ended()) {
    const auto now = sandbox.clock().now();
    if (now >= deadline + kLastBreath) {
      return Error(ErrorCode::kUnavailable, "a helper process does not end");
    }
    if (now >= deadline && !killed) {
      killed = true;
      process->signal(SIGKILL);
    }
    const auto watch = process->watch();
    std::array<pollfd, 3> polled{{watch[0], watch[1], {err.ours ? err.ours.get() : -1, POLLIN, 0}}};
    (void)::poll(polled.data(), polled.size(), 100);
    std::array<char, 1024> bytes;
    const ssize_t got = err.ours ? ::read(err.ours.get(), bytes.data(), bytes.size()) : 0;
    if (got > 0 && said.size() < bytes.size()) {
      said.append(bytes.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      err.ours.reset();
    }
  }
  if (killed) {
    return Error(ErrorCode::kExhausted, "it took too long");
  }
  if (process->ended()->wait_status != 0) {
    return Error(ErrorCode::kExhausted, printable(said), "raise the disk or inodes limit");
  }
  return {};
}

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count() + 1, 0));
}

std::chrono::milliseconds start_patience(const Sandbox& sandbox) {
  return sandbox.features().emulated ? kEmulatedStartPatience : kStartPatience;
}

// What an interpreter that did not start has written. Of Python's traceback only the end, which
// names the error: the rest is about our agent.
std::string start_failure(std::string_view log) {
  while (!log.empty() && (log.back() == '\n' || log.back() == ' ')) {
    log.remove_suffix(1);
  }
  if (log.find("Traceback (most recent call last)") == std::string_view::npos) {
    return printable(log);
  }
  log.remove_prefix(log.rfind('\n') + 1);
  constexpr std::string_view kMissing = "ModuleNotFoundError: No module named ";
  if (!log.starts_with(kMissing)) {
    return printable(log);
  }
  log.remove_prefix(kMissing.size());
  return "Python's module " + printable(log) + " is missing";
}

}  // namespace

Context::Context(Sandbox& sandbox, std::string language, UniqueFd socket, Streams streams)
    : sandbox_(sandbox),
      language_(std::move(language)),
      link_(std::move(socket)),
      streams_(std::move(streams)) {}

Context::~Context() {
  if (process_ && !ended_) {
    (void)process_->signal(SIGKILL);
  }
}

Result<std::unique_ptr<Context>> Context::start(Sandbox& sandbox, const ContextSpec& spec) {
  if (spec.agent.empty()) {
    return Error(ErrorCode::kInvalid, "no agent for " + spec.language);
  }
  Connections connections = GB_TRY(connect());
  const Command command{.argv = spec.agent, .env = spec.env, .cwd = spec.cwd};
  RunOptions options;
  options.limits = sandbox.limits();
  std::unique_ptr<GuestProcess> process =
      GB_TRY(sandbox.start_detached(command, options,
                                    {connections.out.theirs.get(), connections.err.theirs.get(),
                                     connections.channel.theirs.get()}));
  std::unique_ptr<Context> context(
      new Context(sandbox, spec.language, std::move(connections.channel.ours),
                  {std::move(connections.out.ours), std::move(connections.err.ours)}));
  context->process_ = std::make_unique<StartedProcess>(std::move(process));
  connections = {};
  GB_TRY(context->await_ready());
  return context;
}

Result<std::unique_ptr<Context>> Context::fork(Sandbox& sandbox,
                                               Zygote& zygote,
                                               const ContextSpec& spec) {
  Connections connections = GB_TRY(connect());
  ForkSpec fork{.cwd = spec.cwd,
                .limits = sandbox.limits(),
                .channel = connections.channel.theirs.get(),
                .out = connections.out.theirs.get(),
                .err = connections.err.theirs.get()};
  fork.env = sandbox.environment();
  for (const auto& [name, value] : spec.env) {
    std::erase_if(fork.env, [&name](const auto& known) { return known.first == name; });
    fork.env.emplace_back(name, value);
  }
  std::unique_ptr<AgentProcess> process = GB_TRY(zygote.fork(sandbox, fork));
  std::unique_ptr<Context> context(
      new Context(sandbox, spec.language, std::move(connections.channel.ours),
                  {std::move(connections.out.ours), std::move(connections.err.ours)}));
  context->process_ = std::move(process);
  connections = {};
  GB_TRY(context->await_ready());
  return context;
}

Result<void> Context::await_ready() {
  const auto deadline = Clock::now() + start_patience(sandbox_);
  while (Clock::now() < deadline) {
    auto message = link_.poll_message();
    if (!message) {
      std::array<char, 16 * 1024> bytes;
      const ssize_t got = ::read(streams_.err.get(), bytes.data(), bytes.size());
      ended_ = true;
      return Error(ErrorCode::kUnavailable,
                   "the interpreter for " + language_ + " did not start: " +
                       start_failure({bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0}));
    }
    const auto& got = message.value();
    if (got && got->type == agent::Reply::kReady) {
      ready_ = GB_TRY(agent::decode_ready(got->payload));
      leave_out_what_cannot_be();
      return {};
    }
    if (got && got->type == agent::Reply::kNotEntered) {
      ended_ = true;
      return Error(got->payload.starts_with(zygote::kDirectoryStep) ? ErrorCode::kNotFound
                                                                    : ErrorCode::kInternal,
                   "the context could not enter its sandbox: " + printable(got->payload));
    }
    if (!got) {
      pollfd polled{link_.fd(), POLLIN, 0};
      (void)::poll(&polled, 1, milliseconds_until(deadline));
    }
  }
  return Error(ErrorCode::kUnavailable, "the interpreter for " + language_ + " does not start");
}

void Context::leave_out_what_cannot_be() {
  if (!sandbox_.features().own_pids || !sandbox_.features().returns_descriptors) {
    // A copy is named by a pidfd that the guest sends: it must reach us, and must not name just any
    // process.
    std::erase(ready_.features, kCheckpoint);
  }
}

Result<RestingContext> Context::rest() const {
  const auto process = process_->warden_channel();
  if (!process) {
    return Error(ErrorCode::kUnsupported, "this context's memory cannot be saved",
                 "use the gvisor tier");
  }
  if (ended_) {
    return Error(ErrorCode::kConflict, "the interpreter has ended", "delete the context");
  }
  return RestingContext{.language = language_,
                        .version = ready_.version,
                        .features = ready_.features,
                        .process = *process,
                        .next_channel = next_channel_};
}

Result<std::unique_ptr<Context>> Context::wake(Sandbox& sandbox, const RestingContext& resting) {
  const auto& residents = sandbox.residents();
  const auto found = std::ranges::find(residents, resting.process, &Sandbox::Resident::channel);
  if (found == residents.end() || found->streams != warden::Streams::kAgent) {
    return Error(ErrorCode::kNotFound, "the interpreter for " + resting.language + " has ended",
                 "restart the context");
  }
  const Sandbox::Resident resident = *found;
  Connections connections = GB_TRY(connect());
  auto process = GB_TRY(
      sandbox.adopt(resident, std::array{connections.out.theirs.get(), connections.err.theirs.get(),
                                         connections.channel.theirs.get()}));
  std::unique_ptr<Context> context(
      new Context(sandbox, resting.language, std::move(connections.channel.ours),
                  {std::move(connections.out.ours), std::move(connections.err.ours)}));
  context->process_ = std::make_unique<StartedProcess>(std::move(process));
  connections = {};
  context->ready_ = {.language = resting.language,
                     .version = resting.version,
                     .features = resting.features};
  context->leave_out_what_cannot_be();
  context->next_channel_ = resting.next_channel;
  if (context->can(kRenew)) {
    (void)GB_TRY(context->ask(agent::Request::kRenew, {}, start_patience(sandbox)));
  }
  return context;
}

bool Context::can(std::string_view feature) const {
  return std::ranges::find(ready_.features, feature) != ready_.features.end();
}

Result<Execution> Context::execute(const ExecuteOptions& options) {
  if (ended_) {
    return Error(ErrorCode::kConflict, "the interpreter has ended", "start a new context");
  }
  if (options.code.size() > agent::kMaxMessage / 2) {
    return Error(ErrorCode::kInvalid, "the code is larger than 32 MiB",
                 "write it to a file and import it");
  }
  if (!options.tools.tools.empty()) {
    GB_TRY(require("tools"));
    GB_TRY(validate(options.tools));
  }
  if (!options.recover) {
    return Executing(*this, options).run();
  }
  const std::uint32_t before = GB_TRY(checkpoint());
  auto execution = Executing(*this, options).run();
  if (execution && ended_) {
    GB_TRY(rollback(before));
    execution->recovered = true;
    execution->notes.emplace_back(
        "memory and workspace were restored to their state before this execution");
  }
  GB_TRY(release(before));
  return execution;
}

Result<std::string> Context::ask(agent::Request request,
                                 std::string_view json,
                                 std::chrono::milliseconds patience) {
  if (ended_) {
    return Error(ErrorCode::kConflict, "the interpreter has ended", "start a new context");
  }
  const std::uint32_t channel = next_channel_++;
  link_.send(request, channel, json);
  std::string reply;
  auto replied = await_reply(channel, Clock::now() + patience, reply);
  if (!replied && process_->wait_status()) {
    ended_ = true;
    return Error(ErrorCode::kConflict, "the interpreter has ended", "start a new context");
  }
  GB_TRY(std::move(replied));
  return reply;
}

Result<void> Context::await_reply(std::uint32_t channel,
                                  Clock::time_point deadline,
                                  std::string& reply) {
  // By the clock and not by what comes: a guest could send without end.
  while (Clock::now() < deadline) {
    GB_TRY(link_.flush());
    if (const auto message = GB_TRY(link_.poll_message()); message) {
      if (message->channel == channel && message->type == agent::Reply::kReply) {
        reply = message->payload;
        return {};
      }
      keep_for_later(*message);
      continue;
    }
    pollfd polled{link_.fd(), static_cast<short>(POLLIN | (link_.has_unsent() ? POLLOUT : 0)), 0};
    (void)::poll(&polled, 1, milliseconds_until(deadline));
  }
  // It may be in code of the guest's that does not return; when it is not, this has no effect.
  (void)process_->signal(SIGINT);
  return Error(ErrorCode::kUnavailable, "the interpreter does not respond");
}

void Context::keep_for_later(const AgentLink::Message& message) {
  const std::size_t size = message.payload.size() + sizeof(Event);
  if (between_size_ + size > kMostBetween) {
    return;
  }
  if (auto event = agent::decode_event(message.type, message.payload)) {
    between_size_ += size;
    between_.push_back(*std::move(event));
  }
}

Result<void> Context::require(std::string_view feature) const {
  if (can(feature)) {
    return {};
  }
  return Error(ErrorCode::kUnsupported,
               "live " + language_ + " does not support '" + std::string(feature) + "'",
               "use a context of another language, such as python");
}

Result<Completion> Context::complete(const CodePlace& place, std::chrono::milliseconds patience) {
  GB_TRY(require("complete"));
  const std::size_t cursor = GB_TRY(cursor_of(place));
  const std::string reply =
      GB_TRY(ask(agent::Request::kComplete, agent::encode(place.code, cursor), patience));
  return agent::decode_completion(reply, GB_TRY(cursor_of({.code = place.code})));
}

Result<Inspection> Context::inspect(const CodePlace& place,
                                    int detail,
                                    std::chrono::milliseconds patience) {
  GB_TRY(require("inspect"));
  const std::size_t cursor = GB_TRY(cursor_of(place));
  return agent::decode_inspection(
      GB_TRY(ask(agent::Request::kInspect, agent::encode(place.code, cursor, detail), patience)));
}

Result<std::vector<agent::Variable>> Context::variables(std::chrono::milliseconds patience) {
  GB_TRY(require("variables"));
  return agent::decode_variables(GB_TRY(ask(agent::Request::kVariables, "{}", patience)));
}

Result<std::uint32_t> Context::checkpoint(std::vector<std::string>* not_carried, bool thorough) {
  if (!can(kCheckpoint)) {
    return Error(ErrorCode::kUnsupported, "a live " + language_ + " cannot be copied here",
                 "use Python in the native tier");
  }
  const std::uint32_t id = sandbox_.unused_number();
  (void)link_.take_descriptors();
  const std::string reply = GB_TRY(ask(agent::Request::kCheckpoint, agent::encode_id(id), 30s));
  std::vector<std::string> left_out = GB_TRY(agent::decode_checkpoint(reply));
  Checkpoint copy = GB_TRY(Checkpoint::adopt(id, link_.take_descriptors()));
  GB_TRY(sandbox_.snapshot(id, thorough));
  checkpoints_.emplace(id, std::move(copy));
  if (not_carried != nullptr) {
    *not_carried = std::move(left_out);
  }
  return id;
}

Result<Checkpoint*> Context::find(std::uint32_t checkpoint) {
  const auto found = checkpoints_.find(checkpoint);
  if (found == checkpoints_.end()) {
    return Error(ErrorCode::kNotFound, "no checkpoint " + std::to_string(checkpoint));
  }
  return &found->second;
}

void Context::end_process() {
  const auto deadline = Clock::now() + kEndPatience;
  if (!process_->wait_status()) {
    (void)process_->signal(SIGKILL);
  }
  while (!process_->wait_status() && Clock::now() < deadline) {
    auto polled = process_->watch();
    (void)::poll(polled.data(), polled.size(), milliseconds_until(deadline));
  }
  link_.start_over();
  std::array<char, 4096> dropped;
  for (const UniqueFd* const stream : {&streams_.out, &streams_.err}) {
    while (::read(stream->get(), dropped.data(), dropped.size()) > 0) {
    }
  }
}

Result<void> Context::rollback(std::uint32_t checkpoint,
                               const std::function<Result<void>()>& stopped,
                               bool thorough) {
  Checkpoint* const copy = GB_TRY(find(checkpoint));
  end_process();
  ended_ = true;
  if (stopped) {
    GB_TRY(stopped());
  }
  GB_TRY(sandbox_.restore(checkpoint, thorough));
  process_ = GB_TRY(copy->wake());
  ended_ = false;
  return {};
}

std::optional<std::uint32_t> Context::newest_checkpoint() const {
  return checkpoints_.empty() ? std::nullopt : std::optional(checkpoints_.rbegin()->first);
}

Result<std::unique_ptr<Context>> Context::fork_from(std::uint32_t checkpoint) {
  Checkpoint* const copy = GB_TRY(find(checkpoint));
  const std::string directory = "/tmp/workspace-" + std::to_string(sandbox_.unused_number());
  auto copied = run_beside(sandbox_, {"cp", "-a", std::string(kWorkspace), directory});
  if (!copied) {
    (void)run_beside(sandbox_, {"rm", "-rf", directory});
    return std::move(copied).error().within("copy the workspace");
  }
  Connections connections = GB_TRY(connect());
  std::unique_ptr<AgentProcess> process =
      GB_TRY(copy->fork({connections.channel.theirs.get(), connections.out.theirs.get(),
                         connections.err.theirs.get()},
                        directory));
  std::unique_ptr<Context> context(
      new Context(sandbox_, language_, std::move(connections.channel.ours),
                  {std::move(connections.out.ours), std::move(connections.err.ours)}));
  context->process_ = std::move(process);
  context->ready_ = ready_;
  return context;
}

Result<void> Context::drop(std::uint32_t checkpoint) {
  (void)GB_TRY(find(checkpoint));
  checkpoints_.erase(checkpoint);
  return sandbox_.drop_snapshot(checkpoint);
}

Result<void> Context::release(std::uint32_t checkpoint) {
  (void)GB_TRY(find(checkpoint));
  checkpoints_.erase(checkpoint);
  const auto before = std::exchange(kept_snapshot_, checkpoint);
  return before ? sandbox_.drop_snapshot(*before) : Result<void>();
}

Verdict make_verdict(Context& context, Execution execution, const Limits& limits) {
  Sandbox& sandbox = context.sandbox();
  Verdict verdict;
  verdict.id = sandbox.id();
  verdict.language = context.language();
  verdict.tier = sandbox.tier();
  verdict.execution_count = execution.execution_count;
  verdict.results = std::move(execution.results);
  verdict.error = std::move(execution.error);
  verdict.walls = sandbox.walls();
  verdict.limits = sandbox.limit_reports(limits);
  verdict.timings = {{"first_event", execution.first_event}};
  verdict.notes = sandbox.notes();
  conclude(verdict, std::move(execution));
  return verdict;
}

}  // namespace glovebox
