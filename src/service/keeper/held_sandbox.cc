// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/held_sandbox.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "context/agent_files.h"
#include "files/open.h"
#include "service/runs/live_session.h"
#include "spec/json/dry_run_json.h"

namespace glovebox::keeper {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostContexts = 64;
constexpr std::size_t kMostProcesses = 512;
constexpr std::size_t kMostDeletedContexts = 256;
// A listener that comes after the end still learns of it.
constexpr auto kRemembered = std::chrono::seconds(30);
// Values larger than that come from an agent by reference.
constexpr const char* kInlineBytes = "16777216";
// Of zygotes and of the contexts that wait.
constexpr const char* kWarmLanguage = "python";
// If a sandbox has kept more than that, the memory is given back to the system at its end.
constexpr std::size_t kWorthTrimming = 4UL << 20;
// The least time that a resumed sandbox has left.
constexpr auto kGrace = std::chrono::minutes(5);

Error is_leaving() { return {ErrorCode::kConflict, "the sandbox is being paused", "resume it"}; }

}  // namespace

Command agent_command(const Language& language, const std::string& agents, const Limits& limits) {
  Command command = make_agent_command(language, agents, limits);
  command.env.emplace_back("GLOVEBOX_INLINE", kInlineBytes);
  return command;
}

HeldSandbox::HeldSandbox(std::shared_ptr<Zygote> zygote,
                         std::unique_ptr<Sandbox> sandbox,
                         std::unique_ptr<Context> ready,
                         Environment env)
    : zygote_(std::move(zygote)),
      sandbox_(std::move(sandbox)),
      env_(std::move(env)),
      pump_(std::make_unique<ProcessPump>(*sandbox_)),
      ready_(std::move(ready)) {
  // As root, a guest can write to the whole root, but a checkpoint has only the workspace.
  if (sandbox_->walls().user == "root") {
    gate_->forbid("its guest is root, and writes outside the workspace could not be taken back");
  }
}

HeldSandbox::~HeldSandbox() {
  kill();
  processes_.clear();
  pump_.reset();
  contexts_.clear();
  ready_.reset();
  network_.reset();
  (void)sandbox_->end();
  if (memory_->peak() > kWorthTrimming) {
    (void)::malloc_trim(0);
  }
}

void HeldSandbox::hold(LentImages images, bool shared) {
  if (shared) {
    gate_->forbid("it has volumes, and what is written to them could not be taken back");
  }
  images_ = std::move(images);
  images_.mounts.clear();
}

void HeldSandbox::note_oom_kills() {
  const std::uint64_t now = sandbox_->meter().oom_kills();
  // What a dying sandbox counts may be what it dies of.
  if (alive()) {
    oom_kills_survived_ = std::exchange(oom_kills_seen_, now);
  }
}

void HeldSandbox::kill() {
  *images_.ending = true;
  sandbox_->kill();
  if (network_) {
    network_->cut();
  }
}

EndReason HeldSandbox::cause_of_death() const {
  return sandbox_->meter().oom_kills() > oom_kills_survived_ ? EndReason::kOutOfMemory
                                                             : EndReason::kCrashed;
}

void HeldSandbox::set_record(std::string record) {
  const std::scoped_lock lock(mutex_);
  record_ = std::move(record);
}

std::string HeldSandbox::record() const {
  const std::scoped_lock lock(mutex_);
  return record_;
}

void HeldSandbox::set_lifetime(Lifetime lifetime) {
  const std::scoped_lock lock(mutex_);
  // Setting the same time again changes nothing, whatever the system's clock shows by now.
  if (lifetime.expires != lifetime_.expires) {
    deadline_ = Clock::now() + (lifetime.expires - std::chrono::system_clock::now());
  }
  lifetime_ = lifetime;
}

Lifetime HeldSandbox::lifetime() const {
  const std::scoped_lock lock(mutex_);
  return lifetime_;
}

bool HeldSandbox::overdue() const {
  const std::scoped_lock lock(mutex_);
  return !paused() && deadline_ <= Clock::now();
}

Result<void> HeldSandbox::pause() {
  if (!alive()) {
    return Error(ErrorCode::kUnavailable, "the sandbox has ended");
  }
  sandbox_->pause();
  sandbox_->meter().reclaim();
  return {};
}

Result<void> HeldSandbox::resume() {
  if (!alive()) {
    return Error(ErrorCode::kUnavailable, "the sandbox has ended");
  }
  {
    const std::scoped_lock lock(mutex_);
    if (deadline_ <= Clock::now()) {
      deadline_ = Clock::now() + kGrace;
      lifetime_.expires = std::chrono::time_point_cast<std::chrono::milliseconds>(
                              std::chrono::system_clock::now()) +
                          kGrace;
    }
  }
  sandbox_->resume();
  pump_->poke();
  return {};
}

HeldContext::Shared HeldSandbox::shared() {
  return {.memory = memory_,
          .gate = gate_,
          .network = [this] { return network_.get(); },
          .files = [this] { return files_.get(); }};
}

std::optional<std::string> HeldSandbox::undecided() const {
  const auto closed = gate_->closed();
  return closed && !closed->told.empty() ? std::optional(closed->told) : std::nullopt;
}

bool HeldSandbox::has_expired_dry_run() const {
  const auto closed = gate_->closed();
  return closed && closed->deadline <= Clock::now() && !paused();
}

Result<void> HeldSandbox::decide(std::string_view dry_run,
                                 const DryRunDecision& decision,
                                 const Patience& patience) {
  const auto closed = gate_->closed();
  std::shared_ptr<HeldContext> context;
  if (closed && closed->context.empty()) {
    return dry_run_.decide(dry_run, decision);
  }
  if (closed && closed->id == dry_run) {
    const std::scoped_lock lock(mutex_);
    context = find(closed->context);
  }
  if (!context) {
    return Error(ErrorCode::kNotFound, "no undecided dry run '" + printable(dry_run) + "'",
                 "it was decided, or discarded when its time was over");
  }
  return context->decide(dry_run, decision, patience);
}

Result<SandboxUsage> HeldSandbox::usage() {
  const Meter& meter = sandbox_->meter();
  const Limits& limits = sandbox_->limits();
  const Sandbox::DiskUse disk = GB_TRY(sandbox_->disk_use());
  return SandboxUsage{.at = std::chrono::system_clock::now(),
                      .cpus = limits.cpus,
                      .cpu_used = meter.cpu_time().value_or(std::chrono::microseconds(0)),
                      .memory_used = meter.memory_now().value_or(Bytes{0}),
                      .memory_limit = limits.memory,
                      .disk_used = disk.bytes,
                      .disk_limit = limits.disk,
                      .pids = meter.pids_now().value_or(0)};
}

void HeldSandbox::show_template(const TemplateOrder& shown, std::vector<UniqueFd> contents) {
  other_root_ = !shown.root.empty();
  directory_ = shown.directory;
  contents_ = std::move(contents);
}

Result<Language> HeldSandbox::language(const Registry& registry, std::string_view name) const {
  // What the host has installed says nothing about another root.
  if (other_root_ && !name.starts_with(kJupyterPrefix)) {
    Language found = GB_TRY(registry.find(name));
    if (!found.agent.empty()) {
      return found;
    }
  }
  return find_live_language(registry, name, {.exactly = std::string(sandbox_->tier())});
}

HeldContext::Starter HeldSandbox::starter(const Registry& registry, const ContextRequest& request) {
  return [this, &registry, request]() -> Result<std::unique_ptr<Context>> {
    // A zygote can die, and its sandboxes live on without it.
    if (zygote_ && request.language == kWarmLanguage && zygote_->alive()) {
      return Context::fork(*sandbox_, *zygote_,
                           {.agent = {}, .env = request.env, .cwd = request.cwd});
    }
    const Language chosen = GB_TRY(language(registry, request.language));
    if (zygote_ && traits_of(sandbox_->tier()).forks_own_interpreters) {
      const auto warm = GB_TRY(
          zygote_->beside(GB_TRY(zygote_for(chosen, {.exactly = std::string(sandbox_->tier())}))));
      return Context::fork(
          *sandbox_, *warm,
          {.language = chosen.id, .agent = {}, .env = request.env, .cwd = request.cwd});
    }
    const std::string agents =
        sandbox_->features().own_root ? std::string(kAgentsTarget) : GB_TRY(agents_directory());
    Command command = agent_command(chosen, agents, sandbox_->limits());
    command.env.insert(command.env.end(), request.env.begin(), request.env.end());
    const std::string program = command.argv.front();
    if (!image_user_.empty()) {
      command.argv = as_user(image_user_, command.argv);
    }
    auto started = Context::start(
        *sandbox_,
        {.language = chosen.id, .agent = command.argv, .env = command.env, .cwd = request.cwd});
    if (!started && other_root_) {
      return std::move(started).error().with_hint(
          chosen.id == "python"
              ? "install Python with its whole standard library (Debian: python3, "
                "not python3-minimal) and IPython in the template's root"
              : "install what " + chosen.id + " needs in the template's root: " + program);
    }
    return started;
  };
}

Result<void> HeldSandbox::has_room_for_context() const {
  if (leaving_) {
    return is_leaving();
  }
  if (contexts_.size() >= kMostContexts) {
    return Error(ErrorCode::kExhausted,
                 "a sandbox can have at most " + std::to_string(kMostContexts) + " contexts",
                 "delete a context");
  }
  return {};
}

Result<std::shared_ptr<HeldContext>> HeldSandbox::add(std::string id,
                                                      const Registry& registry,
                                                      const ContextRequest& request,
                                                      std::unique_ptr<Context> ready) {
  GB_TRY(has_room_for_context());
  ContextRequest known = request;
  // Looking a language up takes longer than many cells, and a waiting context has the warm one.
  known.language = ready ? kWarmLanguage : GB_TRY(language(registry, request.language)).id;
  known.env = env_;
  known.env.insert(known.env.end(), request.env.begin(), request.env.end());
  auto made = std::make_shared<HeldContext>(id, known, starter(registry, known), std::move(ready),
                                            shared());
  contexts_.push_back({std::move(id), made});
  return made;
}

Result<ContextInfo> HeldSandbox::create_context(const Registry& registry,
                                                const ContextRequest& request,
                                                const Patience& patience) {
  const auto pass = GB_TRY(gate_->enter());
  std::shared_ptr<HeldContext> made;
  {
    const std::scoped_lock lock(mutex_);
    const std::string id = "c" + std::to_string(next_context_++);
    // The waiting context is like a new one, in the workspace; its environment comes with each
    // execution.
    const bool takes_ready = ready_ && request.language == kWarmLanguage && request.cwd.empty();
    made = GB_TRY(add(id, registry, request, takes_ready ? std::move(ready_) : nullptr));
  }
  if (auto started = made->start(patience); !started) {
    (void)delete_context(made->info().id);
    return std::move(started).error();
  }
  return made->info();
}

std::shared_ptr<HeldContext> HeldSandbox::find(std::string_view id) const {
  const auto found = std::ranges::find(contexts_, id, &Named::id);
  return found == contexts_.end() ? nullptr : found->context;
}

Result<std::shared_ptr<HeldContext>> HeldSandbox::context(const Registry& registry,
                                                          std::string_view id) {
  const std::scoped_lock lock(mutex_);
  if (auto found = find(id)) {
    return found;
  }
  if (id == kDefaultContext) {
    return add(std::string(kDefaultContext), registry, {}, std::move(ready_));
  }
  return Error(ErrorCode::kNotFound, "no context '" + std::string(id) + "'");
}

std::vector<ContextInfo> HeldSandbox::contexts() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ContextInfo> infos;
  infos.reserve(contexts_.size());
  for (const Named& named : contexts_) {
    infos.push_back(named.context->info());
  }
  return infos;
}

Result<void> HeldSandbox::delete_context(std::string_view id) {
  std::shared_ptr<HeldContext> gone;  // Its process ends after the lock.
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(contexts_, id, &Named::id);
  if (found == contexts_.end()) {
    return Error(ErrorCode::kNotFound, "no context '" + std::string(id) + "'");
  }
  if (const auto closed = gate_->closed(); closed && closed->context == id) {
    GB_TRY(gate_->enter());
  }
  gone = std::move(found->context);
  contexts_.erase(found);
  deleted_contexts_.emplace_back(id, std::chrono::system_clock::now());
  if (deleted_contexts_.size() > kMostDeletedContexts) {
    deleted_contexts_.pop_front();
  }
  gone->interrupt();
  return {};
}

std::optional<Ending> HeldSandbox::context_ending(std::string_view id) const {
  const std::scoped_lock lock(mutex_);
  if (find(id)) {
    return std::nullopt;
  }
  const auto found = std::ranges::find(
      deleted_contexts_, id, [](const auto& each) { return std::string_view(each.first); });
  return found == deleted_contexts_.end()
             ? std::nullopt
             : std::optional(Ending{.reason = EndReason::kDeleted, .at = found->second});
}

Result<ContextInfo> HeldSandbox::fork_context(std::string_view id,
                                              std::uint32_t checkpoint,
                                              const Patience& patience) {
  std::shared_ptr<HeldContext> from;
  {
    const std::scoped_lock lock(mutex_);
    GB_TRY(has_room_for_context());
    from = find(id);
  }
  if (!from) {
    return Error(ErrorCode::kNotFound, "no context '" + std::string(id) + "'");
  }
  std::unique_ptr<Context> copy = GB_TRY(from->fork_from(checkpoint, patience));
  const std::scoped_lock lock(mutex_);
  // Others may have come meanwhile.
  GB_TRY(has_room_for_context());
  const std::string made = "c" + std::to_string(next_context_++);
  contexts_.push_back({made, std::make_shared<HeldContext>(made, from->request(), from->starter(),
                                                           std::move(copy), shared())});
  return contexts_.back().context->info();
}

Result<void> HeldSandbox::make_room_for_process() {
  if (leaving_) {
    return is_leaving();
  }
  const auto before = Clock::now() - kRemembered;
  std::erase_if(processes_, [&](const auto& entry) {
    const auto ended = entry.second->ended();
    return ended && *ended < before;
  });
  if (processes_.size() + starting_ < kMostProcesses) {
    return {};
  }
  auto oldest = processes_.end();
  auto oldest_end = Clock::time_point::max();
  for (auto process = processes_.begin(); process != processes_.end(); ++process) {
    if (const auto ended = process->second->ended(); ended && *ended < oldest_end) {
      oldest = process;
      oldest_end = *ended;
    }
  }
  if (oldest == processes_.end()) {
    return Error(ErrorCode::kExhausted,
                 "a sandbox can have at most " + std::to_string(kMostProcesses) + " processes",
                 "end some processes");
  }
  processes_.erase(oldest);
  return {};
}

Result<std::shared_ptr<HeldProcess>> HeldSandbox::start_process(const ProcessRequest& request) {
  if (!request.dry_run.wanted) {
    const auto pass = GB_TRY(gate_->enter());
    return start_admitted(request);
  }
  GB_TRY(
      dry_run_.begin({.sandbox = *sandbox_, .network = network_.get()}, {}, request.dry_run, {}));
  auto started = start_admitted(request);
  if (!started) {
    dry_run_.give_up();
  }
  return started;
}

Result<std::shared_ptr<HeldProcess>> HeldSandbox::start_admitted(const ProcessRequest& request) {
  {
    const std::scoped_lock lock(mutex_);
    GB_TRY(make_room_for_process());
    ++starting_;
  }
  ProcessRequest whole = request;
  whole.command.env = env_;
  whole.command.env.insert(whole.command.env.end(), request.command.env.begin(),
                           request.command.env.end());
  if (whole.command.cwd.empty()) {
    whole.command.cwd = directory_;
  }
  const auto ended = [this](const ProcessRequest& of, ProcessEvent& end) {
    if (of.dry_run.wanted) {
      end.dry_run = to_json(dry_run_.conclude({}));
    }
    if (on_end_) {
      on_end_(of, end);
    }
  };
  auto started = HeldProcess::start(*sandbox_, *pump_, memory_, whole, sandbox_->limits(), ended);
  const std::scoped_lock lock(mutex_);
  --starting_;
  if (started) {
    processes_.insert_or_assign(started.value()->pid(), started.value());
  }
  return started;
}

Result<std::shared_ptr<HeldProcess>> HeldSandbox::process(std::uint32_t pid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = processes_.find(pid);
  if (found == processes_.end()) {
    return Error(ErrorCode::kNotFound, "no process " + std::to_string(pid));
  }
  return found->second;
}

std::vector<ProcessInfo> HeldSandbox::processes() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ProcessInfo> infos;
  for (const auto& [pid, process] : processes_) {
    infos.push_back(process->info());
  }
  return infos;
}

}  // namespace glovebox::keeper
