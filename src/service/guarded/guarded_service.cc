// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/guarded_service.h"

#include <utility>

namespace glovebox {
namespace {

using enum Need;

// What only those may know who may use the sandbox: `extra` has tokens in it.
void hide_tokens(const Caller& caller, SandboxInfo& info) {
  if (!caller.may(kScopeRun)) {
    info.extra.clear();
  }
}

Result<SandboxInfo> shown(const Caller& caller, Result<SandboxInfo> found) {
  if (found) {
    hide_tokens(caller, *found);
  }
  return found;
}

Result<SandboxPage> shown(const Caller& caller, Result<SandboxPage> found) {
  if (found) {
    for (SandboxInfo& info : found->sandboxes) {
      hide_tokens(caller, info);
    }
  }
  return found;
}

}  // namespace

GuardedService::GuardedService(SandboxService& service, PolicyGate& policies)
    : inner_(service),
      guard_(service),
      policies_(policies),
      volumes_(service, guard_),
      secrets_(service, guard_),
      tenants_(service, guard_),
      templates_(service, guard_, policies_) {}

Result<std::vector<Approval>> GuardedService::waiting(const Caller& caller) {
  GB_TRY(guard_.tenant(caller, kRead));
  return policies_.approvals().waiting(caller.tenant);
}

Result<void> GuardedService::decide(const Caller& caller,
                                    std::string_view id,
                                    const ApprovalReply& reply) {
  GB_TRY(guard_.tenant(caller, kApprove));
  return policies_.approvals().decide(caller, id, reply);
}

Result<void> GuardedService::admit(const Caller& caller, std::string_view scope) {
  return guard_.scope(caller, scope);
}

// Sandboxes.

Result<SandboxInfo> GuardedService::create(const Caller& caller, const SandboxRequest& request) {
  GB_TRY(guard_.tenant(caller, kRun));
  GB_TRY(policies_.known(request.policies));
  return inner_.create(caller, request);
}

Result<SandboxInfo> GuardedService::find(const Caller& caller, std::string_view sandbox) {
  GB_TRY(guard_.sandbox(caller, kLook, sandbox));
  return shown(caller, inner_.find(caller, sandbox));
}

Result<SandboxPage> GuardedService::list(const Caller& caller, const SandboxQuery& query) {
  GB_TRY(guard_.tenant(caller, kRead));
  return shown(caller, inner_.list(caller, query));
}

Result<SandboxInfo> GuardedService::change(const Caller& caller,
                                           std::string_view sandbox,
                                           const SandboxChange& change) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.change(caller, sandbox, change);
}

Result<void> GuardedService::kill(const Caller& caller, std::string_view sandbox) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.kill(caller, sandbox);
}

Result<void> GuardedService::pause(const Caller& caller, std::string_view sandbox) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.pause(caller, sandbox);
}

Result<SandboxInfo> GuardedService::resume(const Caller& caller, std::string_view sandbox) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.resume(caller, sandbox);
}

Result<SandboxUsage> GuardedService::usage(const Caller& caller, std::string_view sandbox) {
  GB_TRY(guard_.sandbox(caller, kRead, sandbox));
  return inner_.usage(caller, sandbox);
}

Result<SandboxConnections> GuardedService::connections(const Caller& caller,
                                                       std::string_view sandbox) {
  GB_TRY(guard_.sandbox(caller, kRead, sandbox));
  return inner_.connections(caller, sandbox);
}

Result<std::string> GuardedService::snapshot(const Caller& caller,
                                             std::string_view sandbox,
                                             std::string_view name) {
  GB_TRY(guard_.tenant(caller, kRun));
  return inner_.snapshot(caller, sandbox, name);
}

Result<std::vector<SandboxInfo>> GuardedService::fork(
    const Caller& caller,
    std::string_view sandbox,
    std::size_t count,
    std::optional<std::chrono::milliseconds> timeout) {
  GB_TRY(guard_.tenant(caller, kRun));
  return inner_.fork(caller, sandbox, count, timeout);
}

// Contexts.

Result<ContextInfo> GuardedService::create_context(const Caller& caller,
                                                   std::string_view sandbox,
                                                   const ContextRequest& request) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.create_context(caller, sandbox, request);
}

Result<std::vector<ContextInfo>> GuardedService::contexts(const Caller& caller,
                                                          std::string_view sandbox) {
  GB_TRY(guard_.sandbox(caller, kLook, sandbox));
  return inner_.contexts(caller, sandbox);
}

Result<void> GuardedService::delete_context(const Caller& caller,
                                            std::string_view sandbox,
                                            std::string_view context) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.delete_context(caller, sandbox, context);
}

Result<void> GuardedService::restart_context(const Caller& caller,
                                             std::string_view sandbox,
                                             std::string_view context) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.restart_context(caller, sandbox, context);
}

Result<void> GuardedService::interrupt(const Caller& caller,
                                       std::string_view sandbox,
                                       std::string_view context) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.interrupt(caller, sandbox, context);
}

Result<void> GuardedService::execute(const Caller& caller,
                                     std::string_view sandbox,
                                     std::string_view context,
                                     const ExecuteRequest& request,
                                     const EventSink& sink) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  const PolicyGate::Turn turn =
      GB_TRY(policies_.execution(caller, sandbox, context, request, sink));
  return inner_.execute(caller, sandbox, context, request, sink);
}

Result<void> GuardedService::reply_input(const Caller& caller,
                                         std::string_view sandbox,
                                         std::string_view context,
                                         const InputReply& reply) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.reply_input(caller, sandbox, context, reply);
}

Result<void> GuardedService::reply_tool(const Caller& caller,
                                        std::string_view sandbox,
                                        std::string_view context,
                                        const ToolReply& reply) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.reply_tool(caller, sandbox, context, reply);
}

Result<Completion> GuardedService::complete(const Caller& caller,
                                            std::string_view sandbox,
                                            std::string_view context,
                                            const CodePlace& place) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.complete(caller, sandbox, context, place);
}

Result<Inspection> GuardedService::inspect(const Caller& caller,
                                           std::string_view sandbox,
                                           std::string_view context,
                                           const CodePlace& place,
                                           int detail) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.inspect(caller, sandbox, context, place, detail);
}

Result<std::uint32_t> GuardedService::checkpoint(const Caller& caller,
                                                 std::string_view sandbox,
                                                 std::string_view context) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.checkpoint(caller, sandbox, context);
}

Result<std::uint32_t> GuardedService::rollback(const Caller& caller,
                                               std::string_view sandbox,
                                               std::string_view context,
                                               std::optional<std::uint32_t> checkpoint) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.rollback(caller, sandbox, context, checkpoint);
}

Result<ContextInfo> GuardedService::fork_context(const Caller& caller,
                                                 std::string_view sandbox,
                                                 std::string_view context,
                                                 std::uint32_t checkpoint) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  ContextInfo fork = GB_TRY(inner_.fork_context(caller, sandbox, context, checkpoint));
  policies_.forked(caller, sandbox, context, fork.id);
  return fork;
}

Result<std::string> GuardedService::notebook(const Caller& caller,
                                             std::string_view sandbox,
                                             std::string_view context,
                                             NotebookFormat format) {
  GB_TRY(guard_.sandbox(caller, kRead, sandbox));
  return inner_.notebook(caller, sandbox, context, format);
}

Result<void> GuardedService::install_packages(const Caller& caller,
                                              std::string_view sandbox,
                                              const PackagesRequest& request,
                                              const EventSink& sink) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  GB_TRY(policies_.packages(caller, sandbox, request, sink));
  return inner_.install_packages(caller, sandbox, request, sink);
}

Result<void> GuardedService::judge(const Caller& caller,
                                   const JudgeRequest& request,
                                   const EventSink& sink) {
  GB_TRY(guard_.tenant(caller, kRun));
  GB_TRY(policies_.known(request.program.policies));
  GB_TRY(policies_.judge(caller, request, sink));
  return inner_.judge(caller, request, sink);
}

Result<void> GuardedService::run(const Caller& caller,
                                 const RunRequest& request,
                                 const EventSink& sink) {
  GB_TRY(guard_.tenant(caller, kRun));
  GB_TRY(policies_.known(request.policies));
  GB_TRY(policies_.run(caller, request, sink));
  return inner_.run(caller, request, sink);
}

// Processes.

Result<std::unique_ptr<ProcessFeed>> GuardedService::start_process(const Caller& caller,
                                                                   std::string_view sandbox,
                                                                   const ProcessRequest& request) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  GB_TRY(policies_.process(caller, sandbox, request));
  return guard_.feed(caller, inner_.start_process(caller, sandbox, request));
}

Result<std::unique_ptr<ProcessFeed>> GuardedService::attach_process(const Caller& caller,
                                                                    std::string_view sandbox,
                                                                    std::uint32_t pid) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return guard_.feed(caller, inner_.attach_process(caller, sandbox, pid));
}

Result<std::vector<ProcessInfo>> GuardedService::processes(const Caller& caller,
                                                           std::string_view sandbox) {
  GB_TRY(guard_.sandbox(caller, kLook, sandbox));
  return inner_.processes(caller, sandbox);
}

Result<void> GuardedService::signal_process(const Caller& caller,
                                            std::string_view sandbox,
                                            std::uint32_t pid,
                                            int signal) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.signal_process(caller, sandbox, pid, signal);
}

Result<void> GuardedService::write_process(const Caller& caller,
                                           std::string_view sandbox,
                                           std::uint32_t pid,
                                           std::string_view bytes) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.write_process(caller, sandbox, pid, bytes);
}

Result<void> GuardedService::close_stdin(const Caller& caller,
                                         std::string_view sandbox,
                                         std::uint32_t pid) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.close_stdin(caller, sandbox, pid);
}

Result<void> GuardedService::resize(const Caller& caller,
                                    std::string_view sandbox,
                                    std::uint32_t pid,
                                    ProcessRequest::Terminal size) {
  GB_TRY(guard_.sandbox(caller, kRun, sandbox));
  return inner_.resize(caller, sandbox, pid, size);
}

// Files, names of templates, and the whole daemon.

Result<FileClient> GuardedService::files(const Caller& caller,
                                         std::string_view sandbox,
                                         FileAccess access) {
  GB_TRY(guard_.sandbox(caller, of(access), sandbox));
  return limited(access, inner_.files(caller, sandbox, access));
}

Result<std::vector<std::string>> GuardedService::templates(const Caller& caller) {
  GB_TRY(guard_.tenant(caller, kLook));
  return inner_.templates(caller);
}

std::optional<Ending> GuardedService::ending(const Caller& caller,
                                             std::string_view sandbox,
                                             std::string_view context) {
  return guard_.sandbox(caller, kLook, sandbox) ? inner_.ending(caller, sandbox, context)
                                                : std::nullopt;
}

Result<std::size_t> GuardedService::emergency_stop(const Caller& caller) {
  GB_TRY(guard_.tenant(caller, kAdmin));
  return inner_.emergency_stop(caller);
}

}  // namespace glovebox
