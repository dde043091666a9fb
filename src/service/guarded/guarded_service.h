// SPDX-License-Identifier: Apache-2.0
// GuardedService: the service as doors see it. Each call is let through by a Guard, or refused.
//
// This is the one place that decides what a key may do: doors and the service behind it check
// nothing of the kind. A method names the right that it needs, what is recorded of it (recorder.h),
// and the call; methods that only look are recorded when they are refused. Quotas and admission to
// executions are counted behind it, where the cost of a request is known.
#pragma once

#include "service/api/approval_desk.h"
#include "service/api/sandbox_service.h"
#include "service/guarded/guard.h"
#include "service/guarded/guarded_parts.h"
#include "service/guarded/image_templates.h"
#include "service/guarded/policy_gate.h"
#include "service/guarded/recorder.h"

namespace glovebox {

// Any thread. The service and the policies, which all doors share, outlive it.
class GuardedService final : public SandboxService, public ApprovalDesk {
 public:
  // With a trail, which outlives it, what callers do is recorded, as done through this door.
  GuardedService(SandboxService& service,
                 PolicyGate& policies,
                 AuditTrail* trail = nullptr,
                 std::string door = {});

  Result<Caller> authenticate(std::string_view key) override;
  Caller unix_peer() override { return inner_.unix_peer(); }
  Result<void> admit(const Caller& caller, std::string_view scope) override;
  Result<void> renew(const Caller& caller) override { return inner_.renew(caller); }
  Result<Bearer> bearer(std::string_view sandbox) override { return inner_.bearer(sandbox); }
  std::vector<Bearer> bearers() override { return inner_.bearers(); }
  [[nodiscard]] std::string_view signing_key() const override { return inner_.signing_key(); }
  [[nodiscard]] NetworkPolicy network_policy() const override { return inner_.network_policy(); }
  bool ready() override { return inner_.ready(); }
  Result<std::string> languages() override { return inner_.languages(); }

  Result<std::vector<Approval>> waiting(const Caller& caller) override;
  Result<void> decide(const Caller& caller,
                      std::string_view id,
                      const ApprovalReply& reply) override;
  Result<void> review(const Caller& caller, std::string_view id, const ReviewReply& reply) override;

  // Sandboxes.
  Result<SandboxInfo> create(const Caller& caller, const SandboxRequest& request) override;
  Result<SandboxInfo> find(const Caller& caller, std::string_view sandbox) override;
  Result<SandboxPage> list(const Caller& caller, const SandboxQuery& query) override;
  Result<SandboxInfo> change(const Caller& caller,
                             std::string_view sandbox,
                             const SandboxChange& change) override;
  Result<void> kill(const Caller& caller, std::string_view sandbox) override;
  Result<void> pause(const Caller& caller, std::string_view sandbox, PauseTo to) override;
  Result<SandboxInfo> resume(const Caller& caller, std::string_view sandbox) override;
  Result<SandboxUsage> usage(const Caller& caller, std::string_view sandbox) override;
  Result<SandboxConnections> connections(const Caller& caller, std::string_view sandbox) override;
  Result<std::string> snapshot(const Caller& caller,
                               std::string_view sandbox,
                               std::string_view name) override;
  Result<std::vector<SandboxInfo>> fork(const Caller& caller,
                                        std::string_view sandbox,
                                        const ForkRequest& request) override;
  Result<void> export_archive(const Caller& caller,
                              std::string_view sandbox,
                              const ArchiveSink& sink) override;
  Result<SandboxRequest> open_archive(const Caller& caller,
                                      const FileClient::Source& source) override;

  // Contexts.
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

  // Processes.
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

  // Files, names of templates, and the whole daemon.
  Result<FileClient> files(const Caller& caller,
                           std::string_view sandbox,
                           FileAccess access) override;
  Result<FileClient> files_of(const Caller& caller,
                              std::string_view sandbox,
                              FileAccess access,
                              const std::string& user) override;
  Result<std::vector<std::string>> templates(const Caller& caller) override;
  std::optional<Ending> ending(const Caller& caller,
                               std::string_view sandbox,
                               std::string_view context) override;
  Result<std::size_t> emergency_stop(const Caller& caller, const StopScope& scope) override;
  Result<void> lift_emergency_stop(const Caller& caller, const StopScope& scope) override;
  Result<std::vector<EmergencyStop>> emergency_stops(const Caller& caller) override;
  [[nodiscard]] std::optional<EmergencyStop> stop_of(std::string_view tenant,
                                                     std::string_view sandbox) override {
    return inner_.stop_of(tenant, sandbox);
  }
  Result<audit::Page> audit_records(const Caller& caller, const audit::Query& query) override;

  VolumeService& volumes() override { return volumes_; }
  SecretService& secrets() override { return secrets_; }
  TenantService& tenants() override { return tenants_; }
  TemplateService& template_service() override { return templates_; }

 private:
  // Requires: the request names a template, and no image.
  Result<SandboxInfo> create_from_template(const Caller& caller, const SandboxRequest& request);
  Result<std::string> recording_of(const Caller& caller, const std::string& run);
  Result<void> run_in_template(const Caller& caller,
                               const RunRequest& request,
                               const EventSink& sink);
  Result<SandboxInfo> unless_stopped(const Caller& caller, Result<SandboxInfo> made);
  Result<std::vector<SandboxInfo>> unless_stopped(const Caller& caller,
                                                  Result<std::vector<SandboxInfo>> made);
  Result<SandboxInfo> paused_if_stopped(const Caller& caller, Result<SandboxInfo> resumed);

  SandboxService& inner_;
  const Guard guard_;
  PolicyGate& policies_;
  const Recorder recorder_;
  GuardedVolumes volumes_;
  GuardedSecrets secrets_;
  GuardedTenants tenants_;
  GuardedTemplates templates_;
  ImageTemplates images_;
};

}  // namespace glovebox
