// SPDX-License-Identifier: Apache-2.0
// For tests: a SandboxService without sandboxes. What it is asked for is remembered; its files are
// a directory that the real file server serves.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "doors/rest/fake_secrets.h"
#include "doors/rest/fake_templates.h"
#include "doors/rest/fake_tenants.h"
#include "doors/rest/fake_volumes.h"
#include "service/api/sandbox_service.h"

namespace glovebox::rest {

class FakeService final : public SandboxService {
 public:
  FakeService();
  ~FakeService() override;
  FakeService(const FakeService&) = delete;
  FakeService& operator=(const FakeService&) = delete;

  // A key in the form of real ones, as good as "runner".
  inline static const std::string kRealKey = "e2b_" + std::string(64, '0');

  // Keys: "reader", "runner", "admin", each with the scope and those below it. The one in `revoked`
  // is no longer valid.
  std::string revoked;
  // Sandbox "sb1" with context "c1" exists; "sb0", and the context "c0", ended at the epoch.
  std::string extra;          // Of sandboxes that are found.
  std::atomic<int> calls{0};  // Not those of authenticate().
  SandboxRequest created;
  SandboxQuery queried;
  ExecuteRequest executed;
  std::optional<bool> committed;
  InputReply replied;
  ToolReply returned;
  CodePlace asked;
  int detail = 0;
  RunRequest ran;
  ProcessRequest started;
  std::string written;
  int signaled = 0;
  ProcessRequest::Terminal resized{};
  bool stdin_closed = false;
  std::atomic<bool> listener_went{false};  // A sink said that nobody listens.
  // What execute() and run() do with the sink.
  std::function<Result<void>(const EventSink&)> execution;
  // What start_process() and attach_process() do.
  std::function<Result<void>(const ProcessSink&)> process;
  PackagesRequest installed;
  std::string workspace;
  Result<void> create_outcome;

  Result<Caller> authenticate(std::string_view key) override;
  bool ready() override { return true; }
  Caller unix_peer() override;
  Result<void> admit(const Caller& caller, std::string_view scope) override;
  Result<void> renew(const Caller& caller) override;
  Result<Bearer> bearer(std::string_view sandbox) override;
  std::vector<Bearer> bearers() override { return {}; }
  [[nodiscard]] std::string_view signing_key() const override { return "secret"; }
  [[nodiscard]] NetworkPolicy network_policy() const override { return NetworkPolicy::kNone; }
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
  Result<ToolWait> tool_wait(const Caller&,
                             std::string_view,
                             std::string_view,
                             std::string_view) override {
    return ToolWait{.open = true};
  }
  Result<void> agree_to_tool(const Caller&,
                             std::string_view,
                             std::string_view,
                             std::string_view,
                             std::string_view) override {
    return {};
  }
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
                              const std::string&) override {
    return files(caller, sandbox, access);
  }
  Result<std::string> languages() override;
  Result<std::vector<std::string>> templates(const Caller& caller) override;
  FakeVolumes& volumes() override { return volumes_; }
  FakeSecrets& secrets() override { return secrets_; }
  FakeTenants& tenants() override { return tenants_; }
  FakeTemplates& template_service() override { return templates_; }
  std::optional<Ending> ending(const Caller& caller,
                               std::string_view sandbox,
                               std::string_view context) override;
  std::vector<EmergencyStop> stops;
  Result<std::size_t> emergency_stop(const Caller& caller, const StopScope& scope) override;
  Result<void> lift_emergency_stop(const Caller& caller, const StopScope& scope) override;
  Result<std::vector<EmergencyStop>> emergency_stops(const Caller& caller) override;
  std::optional<EmergencyStop> stop_of(std::string_view tenant, std::string_view sandbox) override;

 private:
  FakeSecrets secrets_;
  FakeTenants tenants_;
  FakeTemplates templates_;
  FakeVolumes volumes_{[this] { return files({}, "sb1", FileAccess::kUse); }};
  Result<void> known(std::string_view sandbox);
  Result<void> known(std::string_view sandbox, std::string_view context);
};

}  // namespace glovebox::rest
