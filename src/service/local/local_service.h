// SPDX-License-Identifier: Apache-2.0
// LocalService: the service on this machine, over a keeper, a database and a data directory.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/named_locks.h"
#include "base/random.h"
#include "service/api/happening.h"
#include "service/api/sandbox_service.h"
#include "service/keeper/client.h"
#include "service/local/disk_budget.h"
#include "service/local/kept_answers.h"
#include "service/local/kinds.h"
#include "service/local/local_packages.h"
#include "service/local/local_pages.h"
#include "service/local/local_secrets.h"
#include "service/local/local_stops.h"
#include "service/local/local_templates.h"
#include "service/local/local_tenants.h"
#include "service/local/local_volumes.h"
#include "service/local/local_workspaces.h"
#include "service/local/sandbox_book.h"
#include "service/local/saved_disk.h"
#include "service/local/service_figures.h"
#include "service/tenants/admission.h"
#include "service/tenants/memory_pressure.h"
#include "service/tenants/quota_book.h"
#include "service/tenants/tenants.h"
#include "store/database.h"
#include "store/idempotency_records.h"
#include "store/sandbox_records.h"
#include "store/template_records.h"

namespace glovebox {

// Any thread. No lock is held across a call to the keeper, except those that are named by sandbox.
class LocalService final : public SandboxService {
 public:
  static constexpr std::chrono::hours kKeepRecords{30 * 24};

  struct Options {
    // Directories whose packages are offered to sandboxes; kInvalid if one is not a directory.
    std::vector<std::string> package_sources{};
    // Indexes that sandboxes may install from as well; reached by a relay inside.
    std::vector<PackageIndex> package_indexes{};
    // How long records of ended sandboxes are kept.
    std::chrono::milliseconds keep_records = kKeepRecords;
    Keeping keeping = Keeping::kLasting;  // Of the data directory.
    // For all tenants. Changes nothing for sandboxes that are there already.
    NetworkPolicy network = NetworkPolicy::kNone;
    bool allow_nested = false;  // Sandboxes may be SandboxSpec::nested.
    bool list_files = false;    // CreateOrder::lists_files of all of them.
    // The built-in templates whose sandboxes are made ahead.
    std::vector<std::string> warm = kind_names();
    // Called for each sandbox that has ended, or lost its processes.
    std::function<void(std::string_view tenant, std::string_view sandbox, const Ending& ending)>
        ended{};
    // Called for what only the keeper has seen: ends of processes, connections, expired dry runs.
    std::function<void(const Happening& happening)> happened{};
  };

  // Starts a keeper when there is none.
  using Revive = std::function<Result<void>()>;

  // Opens the database, then makes sure that there is a keeper. Asks it which sandboxes live, and
  // marks the others as ended. The first key is written to `directory`/api-key. `log`, which must
  // outlive the service, records the end of each sandbox.
  static Result<std::unique_ptr<LocalService>> open(const std::string& directory,
                                                    const std::string& keeper_socket,
                                                    Revive revive,
                                                    Log& log,
                                                    const Options& options);
  ~LocalService() override;

  Result<Caller> authenticate(std::string_view key) override;
  Caller unix_peer() override;
  Result<void> admit(const Caller& caller, std::string_view scope) override;
  Result<void> renew(const Caller& caller) override;
  Result<Bearer> bearer(std::string_view sandbox) override;
  std::vector<Bearer> bearers() override;
  [[nodiscard]] std::string_view signing_key() const override { return signing_key_; }
  [[nodiscard]] NetworkPolicy network_policy() const override { return network_; }
  bool ready() override;

  Result<SandboxInfo> create(const Caller& caller, const SandboxRequest& request) override;
  Result<SandboxInfo> find(const Caller& caller, std::string_view id) override;
  Result<SandboxPage> list(const Caller& caller, const SandboxQuery& query) override;
  Result<SandboxInfo> change(const Caller& caller,
                             std::string_view id,
                             const SandboxChange& change) override;
  Result<void> kill(const Caller& caller, std::string_view id) override;
  Result<void> pause(const Caller& caller, std::string_view id, PauseTo to) override;
  Result<SandboxInfo> resume(const Caller& caller, std::string_view id) override;
  Result<SandboxUsage> usage(const Caller& caller, std::string_view id) override;
  Result<SandboxConnections> connections(const Caller& caller, std::string_view id) override;
  Result<std::string> snapshot(const Caller& caller,
                               std::string_view id,
                               std::string_view name) override;
  Result<std::vector<SandboxInfo>> fork(const Caller& caller,
                                        std::string_view id,
                                        const ForkRequest& request) override;
  Result<void> export_archive(const Caller& caller,
                              std::string_view id,
                              const ArchiveSink& sink) override;
  Result<SandboxRequest> open_archive(const Caller& caller,
                                      const FileClient::Source& source) override;

  Result<ContextInfo> create_context(const Caller& caller,
                                     std::string_view sandbox,
                                     const ContextRequest& request) override;
  Result<std::vector<ContextInfo>> contexts(const Caller& caller,
                                            std::string_view sandbox) override;
  Result<void> delete_context(const Caller& caller,
                              std::string_view sandbox,
                              std::string_view context) override;
  Result<void> restart_context(const Caller& caller,
                               std::string_view sandbox,
                               std::string_view context) override;
  Result<void> interrupt(const Caller& caller,
                         std::string_view sandbox,
                         std::string_view context) override;
  Result<void> execute(const Caller& caller,
                       std::string_view sandbox,
                       std::string_view context,
                       const ExecuteRequest& request,
                       const EventSink& sink) override;
  Result<void> reply_input(const Caller& caller,
                           std::string_view sandbox,
                           std::string_view context,
                           const InputReply& reply) override;
  Result<void> reply_tool(const Caller& caller,
                          std::string_view sandbox,
                          std::string_view context,
                          const ToolReply& reply) override;
  Result<ToolWait> tool_wait(const Caller& caller,
                             std::string_view sandbox,
                             std::string_view context,
                             std::string_view call) override;
  Result<void> agree_to_tool(const Caller& caller,
                             std::string_view sandbox,
                             std::string_view context,
                             std::string_view call,
                             std::string_view hash) override;
  Result<Completion> complete(const Caller& caller,
                              std::string_view sandbox,
                              std::string_view context,
                              const CodePlace& place) override;
  Result<Inspection> inspect(const Caller& caller,
                             std::string_view sandbox,
                             std::string_view context,
                             const CodePlace& place,
                             int detail) override;
  Result<std::uint32_t> checkpoint(const Caller& caller,
                                   std::string_view sandbox,
                                   std::string_view context) override;
  Result<std::uint32_t> rollback(const Caller& caller,
                                 std::string_view sandbox,
                                 std::string_view context,
                                 std::optional<std::uint32_t> checkpoint) override;
  Result<ContextInfo> fork_context(const Caller& caller,
                                   std::string_view sandbox,
                                   std::string_view context,
                                   std::uint32_t checkpoint) override;
  Result<std::vector<std::string>> dry_runs(const Caller& caller,
                                            std::string_view sandbox) override;
  Result<void> decide_dry_run(const Caller& caller,
                              std::string_view sandbox,
                              std::string_view dry_run,
                              const DryRunDecision& decision) override;
  Result<std::string> notebook(const Caller& caller,
                               std::string_view sandbox,
                               std::string_view context,
                               NotebookFormat format) override;
  Result<void> install_packages(const Caller& caller,
                                std::string_view sandbox,
                                const PackagesRequest& request,
                                const EventSink& sink) override;
  Result<void> judge(const Caller& caller,
                     const JudgeRequest& request,
                     const EventSink& sink) override;
  Result<void> run(const Caller& caller, const RunRequest& request, const EventSink& sink) override;

  Result<std::unique_ptr<ProcessFeed>> start_process(const Caller& caller,
                                                     std::string_view sandbox,
                                                     const ProcessRequest& request) override;
  Result<std::unique_ptr<ProcessFeed>> attach_process(const Caller& caller,
                                                      std::string_view sandbox,
                                                      std::uint32_t pid) override;
  Result<std::vector<ProcessInfo>> processes(const Caller& caller,
                                             std::string_view sandbox) override;
  Result<void> signal_process(const Caller& caller,
                              std::string_view sandbox,
                              std::uint32_t pid,
                              int signal) override;
  Result<void> write_process(const Caller& caller,
                             std::string_view sandbox,
                             std::uint32_t pid,
                             std::string_view bytes) override;
  Result<void> close_stdin(const Caller& caller,
                           std::string_view sandbox,
                           std::uint32_t pid) override;
  Result<void> resize(const Caller& caller,
                      std::string_view sandbox,
                      std::uint32_t pid,
                      ProcessRequest::Terminal size) override;

  Result<FileClient> files(const Caller& caller,
                           std::string_view sandbox,
                           FileAccess access) override;
  Result<FileClient> files_of(const Caller& caller,
                              std::string_view sandbox,
                              FileAccess access,
                              const std::string& user) override;
  Result<std::string> languages() override;
  Result<std::vector<std::string>> templates(const Caller& caller) override;
  LocalVolumes& volumes() override { return volumes_; }
  LocalSecrets& secrets() override { return secrets_; }
  LocalTenants& tenants() override { return tenant_calls_; }
  LocalTemplates& template_service() override { return templates_; }
  std::optional<Ending> ending(const Caller& caller,
                               std::string_view sandbox,
                               std::string_view context) override;
  Result<std::size_t> emergency_stop(const Caller& caller, const StopScope& scope) override;
  Result<void> lift_emergency_stop(const Caller& caller, const StopScope& scope) override;
  Result<std::vector<EmergencyStop>> emergency_stops(const Caller& caller) override;
  std::optional<EmergencyStop> stop_of(std::string_view tenant, std::string_view sandbox) override;

  // For all tenants. Asks the keeper.
  ServiceFigures figures();

 private:
  // What a template is: one of ours, or a snapshot of a tenant's on top of one.
  struct Base {
    std::string name;
    Kind kind;
    std::string archive;                   // The snapshot's files; empty: none.
    std::string image{};                   // Of one whose workspace is on disk; empty: none.
    bool image_in_use = false;             // The image is a living sandbox's, not a snapshot.
    std::string copied{};                  // What the keeper's copy() has written; empty: none.
    std::optional<Limits> image_limits{};  // Size and inodes of the image, if it says them.
    std::optional<TemplateParts> parts{};  // Of one that was built.
  };

  // What the keeper knows of sandboxes that are no longer there.
  struct KeeperEndings {
    std::optional<SystemTime> since{};  // Since when it runs. Nothing: it could not be asked.
    std::map<std::string, Ending, std::less<>> ended{};
    // The ending of a sandbox that it does not have.
    [[nodiscard]] Ending of(const std::string& sandbox, SystemTime created) const;
  };

  // The outcome of a request with an idempotency key, which could not be recorded yet.
  struct Unsettled {
    Caller caller;
    std::string key;
    std::string subject;
    std::optional<std::string> answer;
    AnswerPlace place = AnswerPlace::kRow;
  };

  LocalService(std::string directory,
               const std::string& keeper_socket,
               Revive revive,
               std::unique_ptr<Database> database,
               std::unique_ptr<Tenants> tenants,
               LocalPackages packages,
               std::string signing_key,
               Log& log,
               const Options& options);
  Result<void> adopt();
  // Has the keeper make sandboxes ahead, of the kinds that most of ours will be.
  void warm_up();
  void watch();
  void look_for_ended();
  void take_happenings();

  Result<nlohmann::json> call(std::string_view name, nlohmann::json arguments);
  // A call about one of the caller's sandboxes. kUnavailable if the keeper has lost it and it can
  // be resumed; kNotFound only if it is gone for good.
  Result<nlohmann::json> call_about(const Caller& caller,
                                    std::string_view sandbox,
                                    std::string_view name,
                                    nlohmann::json arguments);
  // What an error of the keeper's means to a caller who knows that sandbox: as call_about().
  Error explain(const Caller& caller, std::string_view sandbox, Error error);
  // As call_about(); a paused sandbox is resumed first if it has `auto_resume`.
  Result<nlohmann::json> call_in(const Caller& caller,
                                 std::string_view sandbox,
                                 std::string_view name,
                                 nlohmann::json arguments);
  Result<SandboxInfo> awake(const Caller& caller, std::string_view sandbox);
  Result<SandboxInfo> store(const SandboxEntry& entry);
  Result<void> store_on_disk(const SandboxEntry& entry);
  // How sandboxes end (local_endings.cc).
  [[nodiscard]] bool sleeps_on_disk(const SandboxInfo& info) const;
  KeeperEndings keeper_endings(const std::vector<std::string>& sandboxes);
  void lose(const SandboxEntry& entry, const Ending& ending);
  void forget(std::string_view id, const Ending& ending);
  void end_record(const std::string& tenant, std::string_view id, const Ending& ending);
  // kRefused if the operator forbids such rules.
  [[nodiscard]] Result<void> check_network(const NetworkRules& rules, bool optional) const;
  [[nodiscard]] Result<void> check_nested(bool wanted) const;
  // What the keeper is told to make (local_orders.cc): what a template says, and the rest of what
  // is known of a sandbox. The caller adds its tier, its disk images, its network, the user of an
  // image and a saved memory.
  [[nodiscard]] keeper::CreateOrder order_of(const Caller& caller, const Base& base) const;
  [[nodiscard]] keeper::CreateOrder order_of(const Caller& caller,
                                             const Base& base,
                                             const SandboxInfo& info) const;
  // What the keeper lets a sandbox with these rules reach; none: nothing. Includes the values of
  // the tenant's secrets. With `may_miss`, rules that name a secret that is gone are left out.
  [[nodiscard]] Result<std::optional<keeper::NetworkOrder>> way_out(std::string_view tenant,
                                                                    const NetworkRules& rules,
                                                                    bool may_miss = false);
  Result<void> change_network(const Caller& caller, std::string_view id, const NetworkRules& rules);
  Result<SandboxInfo> revive_sandbox(const Caller& caller, SandboxInfo info);
  // Both for fork(). The memory is counted until it is removed.
  Result<QuotaLease> copy_memory(const Caller& caller,
                                 const SandboxInfo& info,
                                 const std::string& to);
  Result<std::vector<SandboxInfo>> make_copies(const Caller& caller,
                                               const SandboxInfo& info,
                                               const ForkRequest& fork,
                                               const Base& base);
  Result<void> pause_to_disk(const Caller& caller, SandboxInfo info);
  [[nodiscard]] bool is_being_saved(std::string_view id);
  Result<Base> base_of(const Caller& caller, const std::string& template_name);
  // What a sandbox is made of, without the template's files: it has its own instead.
  Result<Base> base_of(const Caller& caller, const SandboxInfo& info);
  [[nodiscard]] Result<void> make_snapshots_directory() const;
  // An unused name in it: the next daemon removes what it finds under that.
  [[nodiscard]] std::string own_file() const;
  static std::string digest_of(const Base& base);
  // Replaces what the template begins with by what an archive holds.
  static Result<void> continue_archive(const OpenedArchive& archive,
                                       std::string_view template_name,
                                       Base& base);
  // As SandboxInfo::base.
  static std::string describe(std::string_view template_name, const Base& base);
  [[nodiscard]] std::uint64_t most_packed(const Caller& caller, const SandboxInfo& info);
  Result<QuotaLease> pack_workspace(const Caller& caller,
                                    const SandboxInfo& info,
                                    const std::string& path,
                                    DiskBudget budget);
  // Keeps the files of a sandbox as they are now: as an image if it is on disk, else as an archive.
  // What they take counts against the tenant's disk as long as the lease lives.
  Result<QuotaLease> keep_workspace(const Caller& caller,
                                    const SandboxInfo& info,
                                    const std::string& path);
  // Fails while a dry run could still take back what is in it.
  Result<void> check_settled(const SandboxInfo& info);
  Result<void> unpack_workspace(const Caller& caller,
                                std::string_view id,
                                const std::string& archive);
  Result<std::unique_ptr<ProcessFeed>> follow_process(const Caller& caller,
                                                      std::string_view sandbox,
                                                      std::string_view name,
                                                      nlohmann::json arguments);
  std::string fresh_key();
  // Requests that a client may send again (local_repeats.cc).
  Result<std::optional<std::string>> claim(const Caller& caller,
                                           const std::string& key,
                                           const std::string& what,
                                           const std::string& subject);
  void settle(const Caller& caller,
              const std::string& key,
              const std::string& subject,
              const std::optional<std::string>& answer);
  void settle(Unsettled one);
  Result<void> record(Unsettled& one);
  Result<std::string> answer_of(const IdempotencyOutcome& outcome);
  void settle_again();
  // Removes records that are no longer kept, and answers that nobody may ask for again.
  void forget_old();
  void settle_old_claims();
  // Runs a template's start command, and waits until its ready command succeeds or time is up.
  Result<void> begin_template(const Caller& caller,
                              const std::string& id,
                              const TemplateParts& parts);
  void sweep_snapshots();
  Result<SandboxInfo> create_once(const Caller& caller,
                                  const SandboxRequest& request,
                                  const std::string& claim);
  Result<SandboxInfo> create_from(const Caller& caller,
                                  const SandboxRequest& request,
                                  const std::string& claim,
                                  Base base);
  // The content of templates that sandboxes of ours are made of.
  [[nodiscard]] std::set<std::string> content_in_use() const;
  Result<void> run_once(const Caller& caller, const RunRequest& request, const EventSink& sink);
  // Makes a call whose answer is its events, until the sink says no or everything is stopped.
  Result<void> pass_events(std::string_view call,
                           const nlohmann::json& arguments,
                           const EventSink& sink);

  const std::string directory_;
  const std::string signing_key_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Tenants> tenants_;
  SandboxRecords records_;
  TemplateRecords template_records_;
  IdempotencyRecords claims_;
  LocalStops stops_in_effect_;
  QuotaBook quotas_;
  LocalTenants tenant_calls_;
  MemoryPressure pressure_;
  Admission admission_;
  keeper::KeeperClient keeper_;
  LocalVolumes volumes_;
  LocalSecrets secrets_;
  LocalTemplates templates_;
  LocalWorkspaces workspaces_;
  KeptAnswers answers_;
  const std::chrono::milliseconds keep_records_;
  const NetworkPolicy network_;
  const bool allow_nested_;
  const bool list_files_;
  const std::vector<std::string> warm_;
  const decltype(Options::ended) ended_;
  const decltype(Options::happened) happened_;
  const LocalPackages packages_;
  LocalPages pages_;
  const Revive revive_;
  Log& log_;
  SandboxBook book_;
  // Distinguishes this daemon from all others that the keeper has known.
  const std::string own_name_ = random_name();
  std::atomic<std::uint64_t> next_key_ = 1;
  std::atomic<bool> ready_ = false;       // Of the current keeper.
  std::atomic<std::uint64_t> stops_ = 0;  // Emergency stops so far.
  mutable std::mutex noting_;  // Held while a sandbox leaves the book and its record gets an end.
  std::array<std::atomic<std::uint64_t>, kEndReasons> ends_{};

  // By sandbox: nobody waits here for another one's guest or disk.
  SavedDisk saved_disk_;
  NamedLocks reviving_;  // Of those that are made again from what they left on disk.
  NamedLocks changing_;  // Of changes of settings, which are read and written back.
  std::mutex mutex_;     // Of the five that follow; held for a moment only.
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<Unsettled> unsettled_;
  Histogram creation_;
  std::set<std::string, std::less<>> saving_;  // Sandboxes whose memory goes to disk now.
  std::mutex keeping_;                         // From writing an answer's file to recording it.
  std::thread watcher_;
};

}  // namespace glovebox
