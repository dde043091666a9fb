// SPDX-License-Identifier: Apache-2.0
// Keeper: all living sandboxes, the pools that they come from, and the end of those whose time is
// over.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "context/pool.h"
#include "language/registry.h"
#include "service/keeper/call_budget.h"
#include "service/keeper/descriptor_budget.h"
#include "service/keeper/endings.h"
#include "service/keeper/happenings.h"
#include "service/keeper/held_images.h"
#include "service/keeper/held_sandbox.h"
#include "service/keeper/own_paths.h"
#include "service/keeper/pool_shelf.h"
#include "service/keeper/template_order.h"
#include "service/keeper/work_queue.h"
#include "service/packages/package_index.h"
#include "service/run_pool/ready_sandboxes.h"
#include "service/runs/compiled_modules.h"

namespace glovebox::keeper {

// What a sandbox is made of, when it is made.
struct CreateOrder {
  std::string tenant{};  // Whose it is: what waits for it holds up no other tenant.
  std::string home{kWorkspace};
  std::string user = "guest";
  bool as_root = false;  // Then no warm interpreter waits for it.
  bool nested = false;   // Likewise.
  std::string run_as{};  // With root: who owns the workspace (files/users.h); empty: root.
  bool sudo = false;     // Likewise: SandboxSpec::user_may_sudo.
  // The user that the image it shows wants to run everything, contexts too. If there are ids for
  // several users and the tier can, this becomes `run_as` with root inside; otherwise it is the
  // guest.
  std::string image_user{};
  Limits limits;
  Environment env;
  TierWish tier;
  Lifetime lifetime;
  std::string id{};  // Empty: a random one.
  // What it has on disk. The image at `home` is its own, and is removed when the sandbox is killed
  // or its time is over; it stays when the sandbox ends in any other way.
  std::vector<ImageOrder> images{};
  TemplateOrder shows{};
  std::optional<NetworkOrder> network{};  // None: it reaches nothing.
  bool lists_files = false;               // Verdicts of its contexts say which files have changed.
  GuestRules rules{};                     // With rules, no warm interpreter waits for it.
  // Their sockets are among the mounts of `shows`: a relay to them runs inside, if the tier has a
  // loopback for it.
  std::vector<PackageIndex> indexes{};
  // A directory that save() has written, which the sandbox continues, under its `id`; it is removed
  // once the sandbox lives. Empty: a new sandbox.
  std::string saved{};
  bool copied = false;  // copy() has written `saved`: it stays.
};

// The order, with its `image_user` resolved for this machine.
CreateOrder with_image_user(CreateOrder order);

struct KeeperOptions {
  std::string directory{};      // The data directory, beyond which nothing is mounted or changed.
  std::size_t least_ready = 2;  // Sandboxes that wait, for each kind that is asked for.
  std::size_t most_ready = 32;
  std::optional<uid_t> daemon{};  // The daemon's user, if that is not ours.
  bool stays = false;             // Even when nobody has wanted anything for a while.
};

// Safe to use from several threads.
class Keeper {
 public:
  static Result<std::unique_ptr<Keeper>> start(KeeperOptions options);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();  // Ends every sandbox.

  // `record` is for the daemon to find again. kExhausted if there are too many sandboxes, or few
  // descriptors are left. Nothing is made if `still_wanted` says no at the end of the work: nobody
  // would ever ask for a sandbox whose daemon died meanwhile.
  Result<std::shared_ptr<HeldSandbox>> create(const CreateOrder& wanted,
                                              std::string record,
                                              const std::function<bool()>& still_wanted);
  Result<std::shared_ptr<HeldSandbox>> find(std::string_view id);
  // Makes pools for sandboxes like these, in a thread of its own, and tries again those that cannot
  // be made; only the last call counts.
  void warm_up(std::vector<CreateOrder> usual);
  // Removes the pieces of templates that are not in `used` and that no sandbox holds. Waiting
  // sandboxes that show a piece that is not in `named` end: nobody asks for more of them.
  Result<void> sweep_contents(const std::set<std::string>& named,
                              const std::set<std::string>& used);
  [[nodiscard]] std::vector<std::shared_ptr<HeldSandbox>> all();
  // Empty if there is no such sandbox.
  [[nodiscard]] std::string tenant_of(std::string_view id);
  // Before descriptors are opened for something new: see DescriptorBudget::admit().
  Result<void> admit(std::size_t descriptors) { return descriptors_.admit(descriptors); }
  // Ends the sandbox, and removes its workspace on disk.
  Result<void> kill(std::string_view id);
  // Writes the sandbox with its memory to the directory `to`, which is not there yet, and forgets
  // it. kConflict while code or a client's process runs in it, kExhausted if the disk does not have
  // `room`; in these cases, and if its tier cannot do it, the sandbox continues as before.
  Result<void> save(std::string_view id, const std::string& to, Bytes room);
  // The same, but the sandbox continues in every case in which it lives. What is written is for
  // this keeper alone, and only while the keeper lives.
  Result<void> copy(std::string_view id, const std::string& to, Bytes room);
  // Ends the sandbox for this reason; its workspace on disk stays.
  Result<void> end(std::string_view id, EndReason reason);
  // The same for all, and for the sandboxes that wait for a run. Returns how many there were,
  // without those that waited.
  std::size_t end_all(EndReason reason);

  // Asks for the end of all of this; stop_fd() becomes readable.
  void stop();
  [[nodiscard]] int stop_fd() const { return stop_.get(); }

  // In each pool of warm_up() a sandbox waits, or none can here: what it takes is missing.
  [[nodiscard]] bool is_warm() const { return warm_; }
  [[nodiscard]] PoolShelf& pools() { return pools_; }

  // What is made ahead of runs.
  [[nodiscard]] ReadySandboxes& ready_sandboxes() { return ready_sandboxes_; }
  [[nodiscard]] CompiledModules& compiled_modules() { return compiled_modules_; }

  [[nodiscard]] const Registry& registry() const { return registry_; }
  [[nodiscard]] HeldImages& images() { return images_; }
  [[nodiscard]] const OwnPaths& paths() const { return paths_; }
  // What only the keeper has seen, for the journal.
  [[nodiscard]] Happenings& happenings() { return happenings_; }
  // How a sandbox of this keeper ended; nothing if it lives, or this keeper never had it.
  std::optional<Ending> ending(std::string_view id);
  // When it started: what is older was another keeper's.
  [[nodiscard]] SystemTime started() const { return started_; }
  // For the operator: standard error, which is keeper.log in the data directory if a daemon started
  // the keeper.
  [[nodiscard]] Log& log() { return log_; }
  // Callers that follow a process; each takes a socket and no thread.
  [[nodiscard]] CallBudget& followers() { return followers_; }
  [[nodiscard]] std::optional<uid_t> daemon_user() const { return options_.daemon; }
  [[nodiscard]] bool stays() const { return options_.stays; }

 private:
  // Removes its workspace on disk, when it has one: it will never be wanted again.
  void discard_workspace(const HeldSandbox& sandbox);
  struct Held;
  // Takes it off the books, and notes the reason.
  Result<Held> take_out(std::string_view id, EndReason reason);
  // Ends what is off the books, and notes what it has connected to.
  void bury(const Held& held);
  void note_connections(const Held& held);
  Keeper(KeeperOptions options, Registry registry, OwnPaths paths);
  // What a sandbox and its interpreters see besides the system: the mounts of the live languages,
  // and of a template.
  std::vector<Mount> mounts_of(const TemplateOrder& shows);
  Result<SandboxSpec> spec_of(const CreateOrder& order, const EdgeCredentials& credentials);
  // Whether sandboxes are made ahead for this order, with a context in them.
  static bool comes_from_pool(const CreateOrder& order);
  Result<std::shared_ptr<ContextPool>> pool(const CreateOrder& order);
  Result<PoolSpec> own_interpreters_pool(const CreateOrder& order);
  Result<PoolSpec> started_pool(const CreateOrder& order, const std::string& tier);
  Result<std::shared_ptr<HeldSandbox>> make(const CreateOrder& order,
                                            const EdgeCredentials& credentials);
  Result<std::shared_ptr<HeldSandbox>> load(const CreateOrder& order);
  Result<void> write_memory(std::string_view id,
                            const std::string& to,
                            Bytes room,
                            Result<void> (HeldSandbox::*write)(const std::string& directory),
                            bool goes_on);
  void keep_trying(const std::vector<CreateOrder>& usual, std::uint64_t wish);
  bool warm(const CreateOrder& order);
  // For a sandbox that is dead or overdue. Requires: mutex_ is held.
  void note_end(std::string_view id, const HeldSandbox& sandbox);
  struct Held {
    std::shared_ptr<HeldSandbox> sandbox;
    std::string tenant;
    bool pausing = false;     // A job of chores_ does it.
    bool discarding = false;  // Likewise.
    bool saving = false;      // write_memory() is writing it, and decides what becomes of it.
  };
  using HeldById = std::map<std::string, Held, std::less<>>;
  void watch();
  void sweep();
  void watch_hoards();
  void end_overdue();
  void discard_expired(HeldSandbox& sandbox, const std::string& tenant);
  void end_idle_images();

  const KeeperOptions options_;
  const Registry registry_;
  // The mounts of all live languages: there are many files to parse, and none changes meanwhile.
  std::once_flag live_mounts_found_;
  std::vector<Mount> live_mounts_;
  const OwnPaths paths_;
  Log log_{STDERR_FILENO};
  const UniqueFd stop_;
  HeldImages images_;
  Endings endings_;
  Happenings happenings_;
  const SystemTime started_ = std::chrono::system_clock::now();
  DescriptorBudget descriptors_;
  CallBudget followers_{{.all = 24'576, .of_tenant = 12'288, .of_sandbox = 12'288}};

  PoolShelf pools_{[this](const std::string& pool, std::string_view what) {
    // A pool that we ourselves stop from starting when we end is no news.
    if (!warming_stop_.stop_requested()) {
      log_.warning(pool + ": " + std::string(what));
    }
  }};

  ReadySandboxes ready_sandboxes_;
  CompiledModules compiled_modules_;

  std::mutex mutex_;  // Held for a moment only, never while a guest or a disk is waited for.
  std::condition_variable changed_;
  HeldById sandboxes_;
  bool stopping_ = false;
  std::stop_source warming_stop_;
  std::uint64_t warm_wish_ = 0;  // Of the warmer that should continue.
  std::thread watcher_;
  std::thread sweeper_;
  std::thread hoard_watcher_;
  std::atomic<bool> warm_ = false;
  std::mutex warming_;  // Of what follows.
  std::vector<CreateOrder> usual_;
  std::thread warmer_;
  WorkQueue chores_{{}};  // The last member: its jobs use the others.
};

}  // namespace glovebox::keeper
