// SPDX-License-Identifier: Apache-2.0
// HeldSandbox: a living sandbox with its contexts and processes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "context/context.h"
#include "context/zygote.h"
#include "language/registry.h"
#include "sandbox/sandbox.h"
#include "service/api/ending.h"
#include "service/api/sandbox_service.h"
#include "service/keeper/changed_files.h"
#include "service/keeper/dry_run_gate.h"
#include "service/keeper/follower.h"
#include "service/keeper/held_context.h"
#include "service/keeper/held_dry_run.h"
#include "service/keeper/held_images.h"
#include "service/keeper/held_network.h"
#include "service/keeper/held_process.h"
#include "service/keeper/kept_memory.h"
#include "service/keeper/process_pump.h"
#include "service/keeper/template_order.h"

namespace glovebox::keeper {

// The command that starts a context of that language, whose agents are in `agents`.
Command agent_command(const Language& language, const std::string& agents, const Limits& limits);

// What the keeper enforces by itself, whether a daemon is there or not. The time that is left is
// measured from when it is set, by a clock that nobody can set: a jump of the system's clock ends
// nothing.
struct Lifetime {
  SystemTime expires{};
  OnTimeout on_timeout = OnTimeout::kKill;
};

// Safe to use from several threads. Its end waits until nobody uses it any more: owners hold it by
// shared_ptr.
class HeldSandbox {
 public:
  // `env` is for every context and process. `zygote` is that of the realm which the sandbox was
  // made in, if any; `ready` a context that is already there, if any.
  HeldSandbox(std::shared_ptr<Zygote> zygote,
              std::unique_ptr<Sandbox> sandbox,
              std::unique_ptr<Context> ready,
              Environment env);
  HeldSandbox(const HeldSandbox&) = delete;
  HeldSandbox& operator=(const HeldSandbox&) = delete;
  ~HeldSandbox();

  // Disk images that it has, for as long as it lives; `shared` says that it can write to some that
  // are not its own. To be called once, before anybody else knows of it.
  void hold(LentImages images, bool shared);
  // What it shows of a template, and the content that must stay while it lives. To be called once,
  // before anybody else knows of it.
  void show_template(const TemplateOrder& shown, std::vector<UniqueFd> contents);
  // Its way out, which ends with it. To be called once, before anybody else knows of it.
  void let_out(std::unique_ptr<HeldNetwork> network) { network_ = std::move(network); }
  // What ends the relay to package indexes in it, which must not outlive it. To be called once,
  // before anybody else knows of it.
  void relay_indexes(UniqueFd relay) { index_relay_ = std::move(relay); }
  // Verdicts of its contexts say which files have changed. To be called once, before anybody else
  // knows of it.
  void list_changes() { files_ = std::make_unique<ChangedFiles>(*sandbox_); }
  // Null if it has none.
  [[nodiscard]] HeldNetwork* network() const { return network_.get(); }
  // The user that runs its contexts (files/users.h), as the image that it shows says; empty: the
  // one that runs everything. To be called once, before anybody else knows of it.
  void run_as(std::string user) { image_user_ = std::move(user); }
  // Called, in any thread, for each process of a client's that has ended. To be called once, before
  // anybody else knows of it.
  using OnProcessEnd = std::function<void(const ProcessRequest& request, const ProcessEvent& end)>;
  void tell_ends(OnProcessEnd on_end) { on_end_ = std::move(on_end); }
  [[nodiscard]] const std::string& image_user() const { return image_user_; }
  // The image of its workspace, which goes with it; empty: none.
  [[nodiscard]] const std::string& workspace() const { return images_.workspace; }

  [[nodiscard]] std::string_view id() const { return sandbox_->id(); }
  [[nodiscard]] Sandbox& sandbox() { return *sandbox_; }
  [[nodiscard]] bool alive() const { return sandbox_->alive(); }
  // To be called several times a second, by one thread.
  void note_oom_kills();
  // Of a sandbox that nobody ended. kOutOfMemory only if the kernel killed for memory since the
  // round before the last of note_oom_kills(): the sandbox has survived what it killed earlier.
  [[nodiscard]] EndReason cause_of_death() const;

  // What the daemon wants to find again, in a form of its own.
  void set_record(std::string record);
  [[nodiscard]] std::string record() const;

  void set_lifetime(Lifetime lifetime);
  [[nodiscard]] Lifetime lifetime() const;
  // Never while it is paused: it waits without limit to be resumed.
  [[nodiscard]] bool overdue() const;

  // pause() stops it: nothing of the guest's runs until resume(), and the time that its executions
  // and processes may take stands still. If its own time ran out meanwhile, resume() gives it a
  // little more, or it would be paused again at once.
  Result<void> pause();
  Result<void> resume();
  [[nodiscard]] bool paused() const { return sandbox_->paused(); }

  // Writes it, with its contexts and all that their code has started, into a new directory. The
  // sandbox has then ended. kConflict while a context executes or a client's process lives, and
  // kUnsupported if its tier cannot do it: then it continues as before. After any other error it
  // may be lost.
  Result<void> save(const std::string& directory);
  // The same, but it continues, and so do its contexts, which are busy meanwhile.
  Result<void> copy(const std::string& directory);
  // To be called once, on a sandbox that was loaded from there, before anybody else knows of it: it
  // gets its contexts back, and what the keeper had started in it ends.
  Result<void> wake(const Registry& registry, const std::string& directory);

  // Kills everything in it; callers that wait for something in it learn so.
  void kill();

  // As Sandbox's, for it and its realm: also while no execution does this itself.
  void end_hoarders() {
    (void)sandbox_->end_hoarders();
    if (zygote_) {
      (void)zygote_->end_hoarders();
    }
  }

  Result<SandboxUsage> usage();

  // What the dry run that waits for a decision has changed, as JSON; nothing if there is none.
  [[nodiscard]] std::optional<std::string> undecided() const;
  // kConflict while there is a dry run.
  Result<DryRunGate::Pass> change() { return gate_->enter(); }
  // As HeldContext's.
  Result<void> decide(std::string_view dry_run,
                      const DryRunDecision& decision,
                      const Patience& patience);
  // The time of a dry run is over. False while paused: a paused sandbox cannot take it back.
  [[nodiscard]] bool has_expired_dry_run() const;

  Result<ContextInfo> create_context(const Registry& registry,
                                     const ContextRequest& request,
                                     const Patience& patience);
  // By its id; "default" is a Python context that is made when it is first asked for.
  Result<std::shared_ptr<HeldContext>> context(const Registry& registry, std::string_view id);
  [[nodiscard]] std::vector<ContextInfo> contexts() const;
  Result<void> delete_context(std::string_view id);
  // How one of the last contexts that were deleted ended; nothing for others.
  [[nodiscard]] std::optional<Ending> context_ending(std::string_view id) const;
  Result<ContextInfo> fork_context(std::string_view id,
                                   std::uint32_t checkpoint,
                                   const Patience& patience);

  // A dry run is concluded when the process ends; that event says what it has changed.
  Result<std::shared_ptr<HeldProcess>> start_process(const ProcessRequest& request);
  Result<std::shared_ptr<HeldProcess>> process(std::uint32_t pid) const;
  // Tells the follower what its process, one of this sandbox's, says from now on.
  void follow(std::unique_ptr<Follower> follower) { pump_->add(std::move(follower)); }
  [[nodiscard]] std::vector<ProcessInfo> processes() const;

 private:
  struct Named {
    std::string id;
    std::shared_ptr<HeldContext> context;
  };
  Result<std::shared_ptr<HeldContext>> add(std::string id,
                                           const Registry& registry,
                                           const ContextRequest& request,
                                           std::unique_ptr<Context> ready);
  [[nodiscard]] HeldContext::Shared shared();
  [[nodiscard]] Result<Language> language(const Registry& registry, std::string_view name) const;
  // How to find its contexts again; nobody uses them while this is held.
  struct AtRest {
    std::vector<HeldContext::AtRest> turns;
    std::string told;
  };
  // Requires the mutex. kConflict while a context executes or a client's process lives.
  Result<AtRest> come_to_rest();
  // The registry must outlive it.
  HeldContext::Starter starter(const Registry& registry, const ContextRequest& request);
  [[nodiscard]] std::shared_ptr<HeldContext> find(std::string_view id) const;
  // Require the mutex. Only living processes count; those that have ended make room for them.
  [[nodiscard]] Result<void> has_room_for_context() const;
  Result<void> make_room_for_process();
  Result<std::shared_ptr<HeldProcess>> start_admitted(const ProcessRequest& request);

  LentImages images_;
  std::shared_ptr<Zygote> zygote_;
  std::unique_ptr<Sandbox> sandbox_;
  const Environment env_;
  const std::shared_ptr<KeptMemory> memory_ = std::make_shared<KeptMemory>();
  const std::shared_ptr<DryRunGate> gate_ = std::make_shared<DryRunGate>();
  HeldDryRun dry_run_{gate_};  // Of a command.
  std::unique_ptr<ProcessPump> pump_;
  // As of the round before the last, and of the last.
  std::atomic<std::uint64_t> oom_kills_survived_ = 0;
  std::uint64_t oom_kills_seen_ = 0;
  std::string image_user_;
  OnProcessEnd on_end_;
  std::unique_ptr<ChangedFiles> files_;  // As list_changes() says.
  std::unique_ptr<HeldNetwork> network_;
  UniqueFd index_relay_;
  bool other_root_ = false;
  std::string directory_;  // Where commands begin; empty: the workspace.
  std::vector<UniqueFd> contents_;

  mutable std::mutex mutex_;  // Of what follows.
  std::string record_;
  Lifetime lifetime_;
  std::chrono::steady_clock::time_point deadline_{};
  std::unique_ptr<Context> ready_;
  std::vector<Named> contexts_;
  std::uint32_t next_context_ = 1;
  std::deque<std::pair<std::string, SystemTime>> deleted_contexts_;  // Oldest first.
  std::map<std::uint32_t, std::shared_ptr<HeldProcess>> processes_;
  std::size_t starting_ = 0;  // Processes that are not in processes_ yet.
  bool leaving_ = false;      // It is being saved, and takes nothing new.
};

}  // namespace glovebox::keeper
