// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/guarded_service.h"

#include <utility>

#include "base/text.h"
#include "service/guarded/deeds.h"
#include "spec/json/verdict_json.h"
#include "store/tenant_records.h"

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

template <typename Request>
auto& program_of(Request& request) {
  if constexpr (requires { request.program; }) {
    return request.program;
  } else {
    return request;
  }
}

// Only a run has checks.
template <typename Asked>
bool has_checks(const Asked& asked, const PolicyGate::Demands& demands) {
  if constexpr (requires { asked.checks; }) {
    return asked.checks == demands.checks;
  }
  return true;
}

// Passes a request on with what policies demand. Requests can be large: one that has it already is
// not copied.
template <typename Request, typename Next>
auto with_demands(const Request& request, const PolicyGate::Demands& demands, const Next& next) {
  const auto& asked = program_of(request);
  if (asked.policies == demands.policies && asked.tier == demands.tier &&
      asked.rules == demands.rules && asked.nested == demands.nested &&
      has_checks(asked, demands)) {
    return next(request);
  }
  Request raised = request;
  program_of(raised).policies = demands.policies;
  program_of(raised).tier = demands.tier;
  program_of(raised).rules = demands.rules;
  program_of(raised).nested = demands.nested;
  if constexpr (requires { raised.checks; }) {
    raised.checks = demands.checks;
  }
  if constexpr (requires { raised.checker; }) {
    if (raised.checker) {
      raised.checker->rules = demands.rules;
    }
  }
  return next(raised);
}

}  // namespace

GuardedService::GuardedService(SandboxService& service,
                               PolicyGate& policies,
                               AuditTrail* trail,
                               std::string door)
    : inner_(service),
      guard_(service),
      policies_(policies),
      recorder_(service, trail, std::move(door)),
      volumes_(service, guard_, recorder_),
      secrets_(service, guard_, recorder_),
      tenants_(service, guard_, recorder_),
      templates_(service, guard_, policies_, recorder_),
      images_(service, guard_, recorder_) {}

Result<std::vector<Approval>> GuardedService::waiting(const Caller& caller) {
  GB_TRY(recorder_.allowed(caller, deed("approval.list"), guard_.tenant(caller, kRead)));
  return policies_.approvals().waiting(caller.tenant);
}

Result<void> GuardedService::decide(const Caller& caller,
                                    std::string_view id,
                                    const ApprovalReply& reply) {
  Deed deciding = deed_about(reply.agree ? "approval.allow" : "approval.refuse", id);
  deciding.details["hash"] = to_utf8(std::string_view(reply.hash).substr(0, 64));
  deciding.details["remember"] = reply.remember;
  return recorder_.act(caller, std::move(deciding), guard_.tenant(caller, kApprove),
                       [&] { return policies_.approvals().decide(caller, id, reply); });
}

Result<void> GuardedService::review(const Caller& caller,
                                    std::string_view id,
                                    const ReviewReply& reply) {
  Deed answering = deed_about("review.answer", id);
  answering.details["ok"] = reply.ok;
  return recorder_.act(caller, std::move(answering), guard_.tenant(caller, kRun),
                       [&] { return policies_.reviews().answer(caller, id, reply); });
}

Result<Caller> GuardedService::authenticate(std::string_view key) {
  auto caller = inner_.authenticate(key);
  if (!caller && caller.error().code() == ErrorCode::kRefused) {
    (void)recorder_.allowed({}, deed("authenticate"), caller.error());
  }
  return caller;
}

Result<void> GuardedService::admit(const Caller& caller, std::string_view scope) {
  return recorder_.allowed(caller, deed_about("admit", scope), guard_.scope(caller, scope));
}

// An emergency stop does not wait for what is being made at the moment, and must not miss it.
Result<SandboxInfo> GuardedService::unless_stopped(const Caller& caller, Result<SandboxInfo> made) {
  const auto stop = made ? inner_.stop_of(caller.tenant, made->id) : std::nullopt;
  if (stop) {
    (void)inner_.kill(caller, made->id);
    return refusal_by(*stop);
  }
  return made;
}

// Its workspace on disk is evidence, which the end of a sandbox would take away.
Result<SandboxInfo> GuardedService::paused_if_stopped(const Caller& caller,
                                                      Result<SandboxInfo> resumed) {
  const auto stop = resumed ? inner_.stop_of(caller.tenant, resumed->id) : std::nullopt;
  if (stop) {
    (void)inner_.pause(caller, resumed->id, PauseTo::kMemory);
    return refusal_by(*stop);
  }
  return resumed;
}

Result<std::vector<SandboxInfo>> GuardedService::unless_stopped(
    const Caller& caller, Result<std::vector<SandboxInfo>> made) {
  const auto stop = made ? inner_.stop_of(caller.tenant, {}) : std::nullopt;
  if (stop) {
    for (const SandboxInfo& info : *made) {
      (void)inner_.kill(caller, info.id);
    }
    return refusal_by(*stop);
  }
  return made;
}

template <typename Request>
Result<Request> GuardedService::with_template(const Caller& caller,
                                              const Request& request,
                                              const std::function<bool()>& wanted) {
  Request found = request;
  found.template_name = GB_TRY(images_.find(caller, request.image, request.network, wanted));
  found.image.clear();
  return found;
}

// Sandboxes.

Result<SandboxInfo> GuardedService::create_from_template(const Caller& caller,
                                                         const SandboxRequest& request) {
  const PolicyGate::Demands demands = GB_TRY(policies_.demands(caller, request));
  return with_demands(request, demands, [&](const SandboxRequest& raised) {
    return unless_stopped(caller, inner_.create(caller, raised));
  });
}

Result<SandboxInfo> GuardedService::create(const Caller& caller, const SandboxRequest& request) {
  return recorder_.act(
      caller, deed_of(request, recorder_.trail()), guard_.work(caller),
      [&]() -> Result<SandboxInfo> {
        return request.image.empty()
                   ? create_from_template(caller, request)
                   : create_from_template(caller, GB_TRY(with_template(caller, request, [&request] {
                                            return !request.wanted || request.wanted();
                                          })));
      },
      [](const auto& made, Deed& deed) {
        deed.sandbox = made->id;
        deed.details["tier"] = made->tier;
        deed.details["nested"] = made->nested;
      });
}

Result<SandboxInfo> GuardedService::find(const Caller& caller, std::string_view sandbox) {
  GB_TRY(recorder_.allowed(caller, deed("sandbox.read", sandbox),
                           guard_.sandbox(caller, kLook, sandbox)));
  return shown(caller, inner_.find(caller, sandbox));
}

Result<SandboxPage> GuardedService::list(const Caller& caller, const SandboxQuery& query) {
  GB_TRY(recorder_.allowed(caller, deed("sandbox.list"), guard_.tenant(caller, kRead)));
  return shown(caller, inner_.list(caller, query));
}

Result<SandboxInfo> GuardedService::change(const Caller& caller,
                                           std::string_view sandbox,
                                           const SandboxChange& change) {
  return recorder_.act(caller, deed_of(sandbox, change), guard_.sandbox(caller, kRun, sandbox),
                       [&] { return inner_.change(caller, sandbox, change); });
}

Result<void> GuardedService::kill(const Caller& caller, std::string_view sandbox) {
  return recorder_.act(caller, freeing(deed("sandbox.kill", sandbox)), guard_.end(caller, sandbox),
                       [&] { return inner_.kill(caller, sandbox); });
}

Result<void> GuardedService::pause(const Caller& caller, std::string_view sandbox, PauseTo to) {
  return recorder_.act(caller, freeing(deed("sandbox.pause", sandbox)),
                       guard_.sandbox(caller, kRun, sandbox),
                       [&] { return inner_.pause(caller, sandbox, to); });
}

Result<SandboxInfo> GuardedService::resume(const Caller& caller, std::string_view sandbox) {
  return recorder_.act(caller, deed("sandbox.resume", sandbox), guard_.work(caller, sandbox),
                       [&] { return paused_if_stopped(caller, inner_.resume(caller, sandbox)); });
}

Result<SandboxUsage> GuardedService::usage(const Caller& caller, std::string_view sandbox) {
  GB_TRY(recorder_.allowed(caller, deed("sandbox.read", sandbox),
                           guard_.sandbox(caller, kRead, sandbox)));
  return inner_.usage(caller, sandbox);
}

Result<SandboxConnections> GuardedService::connections(const Caller& caller,
                                                       std::string_view sandbox) {
  GB_TRY(recorder_.allowed(caller, deed("sandbox.read", sandbox),
                           guard_.sandbox(caller, kRead, sandbox)));
  return inner_.connections(caller, sandbox);
}

Result<std::string> GuardedService::snapshot(const Caller& caller,
                                             std::string_view sandbox,
                                             std::string_view name) {
  Deed taking = deed("sandbox.snapshot", sandbox);
  taking.subject = name;
  return recorder_.act(
      caller, std::move(taking), guard_.tenant(caller, kRun),
      [&] { return inner_.snapshot(caller, sandbox, name); },
      [](const auto& made, Deed& deed) { deed.subject = *made; });
}

Result<std::vector<SandboxInfo>> GuardedService::fork(const Caller& caller,
                                                      std::string_view sandbox,
                                                      const ForkRequest& request) {
  return recorder_.act(
      caller, deed("sandbox.fork", sandbox), guard_.work(caller),
      [&]() -> Result<std::vector<SandboxInfo>> {
        auto made = GB_TRY(unless_stopped(caller, inner_.fork(caller, sandbox, request)));
        for (const SandboxInfo& info : made) {
          if (request.memory) {
            policies_.copied(caller, sandbox, info.id);
          }
        }
        return made;
      },
      [&](const auto& made, Deed& deed) {
        for (const SandboxInfo& info : *made) {
          deed.details["sandboxes"].push_back(info.id);
        }
        if (request.memory) {
          deed.details["memory"] = true;
        }
      });
}

Result<void> GuardedService::export_archive(const Caller& caller,
                                            std::string_view sandbox,
                                            const ArchiveSink& sink) {
  return recorder_.act(caller, deed("sandbox.export", sandbox), guard_.tenant(caller, kRun),
                       [&] { return inner_.export_archive(caller, sandbox, sink); });
}

// What policies demand of it they demand of the sandbox that is created from it.
Result<SandboxRequest> GuardedService::open_archive(const Caller& caller,
                                                    const FileClient::Source& source) {
  return recorder_.act(caller, deed("sandbox.import"), guard_.work(caller),
                       [&] { return inner_.open_archive(caller, source); });
}

// Contexts.

Result<ContextInfo> GuardedService::create_context(const Caller& caller,
                                                   std::string_view sandbox,
                                                   const ContextRequest& request) {
  return recorder_.act(
      caller, deed_of(sandbox, request, recorder_.trail()), guard_.work(caller, sandbox),
      [&] { return inner_.create_context(caller, sandbox, request); },
      [](const auto& made, Deed& deed) { deed.context = made->id; });
}

Result<std::vector<ContextInfo>> GuardedService::contexts(const Caller& caller,
                                                          std::string_view sandbox) {
  GB_TRY(recorder_.allowed(caller, deed("context.list", sandbox),
                           guard_.sandbox(caller, kLook, sandbox)));
  return inner_.contexts(caller, sandbox);
}

Result<void> GuardedService::delete_context(const Caller& caller,
                                            std::string_view sandbox,
                                            std::string_view context) {
  return recorder_.act(caller, freeing(deed("context.delete", sandbox, context)),
                       guard_.sandbox(caller, kRun, sandbox),
                       [&] { return inner_.delete_context(caller, sandbox, context); });
}

Result<void> GuardedService::restart_context(const Caller& caller,
                                             std::string_view sandbox,
                                             std::string_view context) {
  return recorder_.act(caller, deed("context.restart", sandbox, context),
                       guard_.work(caller, sandbox),
                       [&] { return inner_.restart_context(caller, sandbox, context); });
}

Result<void> GuardedService::interrupt(const Caller& caller,
                                       std::string_view sandbox,
                                       std::string_view context) {
  return recorder_.act(caller, freeing(deed("context.interrupt", sandbox, context)),
                       guard_.sandbox(caller, kRun, sandbox),
                       [&] { return inner_.interrupt(caller, sandbox, context); });
}

Result<void> GuardedService::execute(const Caller& caller,
                                     std::string_view sandbox,
                                     std::string_view context,
                                     const ExecuteRequest& request,
                                     const EventSink& sink) {
  return recorder_.execute(caller, deed_of(sandbox, context, request, recorder_.trail()),
                           guard_.work(caller, sandbox), sink, [&](const EventSink& watched) {
                             return policies_.execute(caller, sandbox, context, request, watched);
                           });
}

Result<void> GuardedService::reply_input(const Caller& caller,
                                         std::string_view sandbox,
                                         std::string_view context,
                                         const InputReply& reply) {
  return recorder_.act(caller, deed("context.input", sandbox, context),
                       guard_.sandbox(caller, kRun, sandbox),
                       [&] { return inner_.reply_input(caller, sandbox, context, reply); });
}

Result<void> GuardedService::reply_tool(const Caller& caller,
                                        std::string_view sandbox,
                                        std::string_view context,
                                        const ToolReply& reply) {
  Deed replying = deed("tool.reply", sandbox, context);
  replying.subject = reply.call;
  return recorder_.act(caller, std::move(replying), guard_.sandbox(caller, kRun, sandbox),
                       [&] { return inner_.reply_tool(caller, sandbox, context, reply); });
}

Result<ToolWait> GuardedService::tool_wait(const Caller& caller,
                                           std::string_view sandbox,
                                           std::string_view context,
                                           std::string_view call) {
  GB_TRY(recorder_.allowed(caller, deed("tool.look", sandbox, context),
                           guard_.sandbox(caller, kRead, sandbox)));
  return inner_.tool_wait(caller, sandbox, context, call);
}

Result<void> GuardedService::agree_to_tool(const Caller& caller,
                                           std::string_view sandbox,
                                           std::string_view context,
                                           std::string_view call,
                                           std::string_view hash) {
  Deed agreeing = deed("tool.agree", sandbox, context);
  agreeing.subject = call;
  return recorder_.act(caller, std::move(agreeing), guard_.sandbox(caller, kApprove, sandbox),
                       [&] { return inner_.agree_to_tool(caller, sandbox, context, call, hash); });
}

Result<Completion> GuardedService::complete(const Caller& caller,
                                            std::string_view sandbox,
                                            std::string_view context,
                                            const CodePlace& place) {
  GB_TRY(recorder_.allowed(caller, deed("context.complete", sandbox),
                           guard_.sandbox(caller, kRun, sandbox)));
  return inner_.complete(caller, sandbox, context, place);
}

Result<Inspection> GuardedService::inspect(const Caller& caller,
                                           std::string_view sandbox,
                                           std::string_view context,
                                           const CodePlace& place,
                                           int detail) {
  GB_TRY(recorder_.allowed(caller, deed("context.inspect", sandbox),
                           guard_.sandbox(caller, kRun, sandbox)));
  return inner_.inspect(caller, sandbox, context, place, detail);
}

Result<std::uint32_t> GuardedService::checkpoint(const Caller& caller,
                                                 std::string_view sandbox,
                                                 std::string_view context) {
  return recorder_.act(caller, deed("context.checkpoint", sandbox, context),
                       guard_.sandbox(caller, kRun, sandbox),
                       [&] { return inner_.checkpoint(caller, sandbox, context); });
}

Result<std::uint32_t> GuardedService::rollback(const Caller& caller,
                                               std::string_view sandbox,
                                               std::string_view context,
                                               std::optional<std::uint32_t> checkpoint) {
  return recorder_.act(caller, deed("context.rollback", sandbox, context),
                       guard_.work(caller, sandbox),
                       [&] { return inner_.rollback(caller, sandbox, context, checkpoint); });
}

Result<ContextInfo> GuardedService::fork_context(const Caller& caller,
                                                 std::string_view sandbox,
                                                 std::string_view context,
                                                 std::uint32_t checkpoint) {
  return recorder_.act(
      caller, deed("context.fork", sandbox, context), guard_.work(caller, sandbox),
      [&]() -> Result<ContextInfo> {
        ContextInfo fork = GB_TRY(inner_.fork_context(caller, sandbox, context, checkpoint));
        policies_.forked(caller, sandbox, context, fork.id);
        return fork;
      },
      [](const auto& made, Deed& deed) { deed.details["made"] = made->id; });
}

Result<std::vector<std::string>> GuardedService::dry_runs(const Caller& caller,
                                                          std::string_view sandbox) {
  GB_TRY(recorder_.allowed(caller, deed("dry_run.list", sandbox),
                           guard_.sandbox(caller, kRead, sandbox)));
  return inner_.dry_runs(caller, sandbox);
}

Result<void> GuardedService::decide_dry_run(const Caller& caller,
                                            std::string_view sandbox,
                                            std::string_view dry_run,
                                            const DryRunDecision& decision) {
  Deed deciding = deed(decision.commit ? "dry_run.commit" : "dry_run.discard", sandbox);
  deciding.subject = to_utf8(dry_run.substr(0, 64));
  // To take something back is possible while the disk is full, and in a sandbox that is stopped.
  deciding.frees = !decision.commit;
  return recorder_.act(
      caller, std::move(deciding),
      decision.commit ? guard_.work(caller, sandbox) : guard_.sandbox(caller, kRun, sandbox),
      [&] { return inner_.decide_dry_run(caller, sandbox, dry_run, decision); });
}

Result<std::string> GuardedService::notebook(const Caller& caller,
                                             std::string_view sandbox,
                                             std::string_view context,
                                             NotebookFormat format) {
  GB_TRY(recorder_.allowed(caller, deed("context.read", sandbox),
                           guard_.sandbox(caller, kRead, sandbox)));
  return inner_.notebook(caller, sandbox, context, format);
}

Result<void> GuardedService::install_packages(const Caller& caller,
                                              std::string_view sandbox,
                                              const PackagesRequest& request,
                                              const EventSink& sink) {
  return recorder_.execute(caller, deed_of(sandbox, request), guard_.work(caller, sandbox), sink,
                           [&](const EventSink& watched) -> Result<void> {
                             GB_TRY(policies_.packages(caller, sandbox, request, watched));
                             return inner_.install_packages(caller, sandbox, request, watched);
                           });
}

Result<void> GuardedService::judge(const Caller& caller,
                                   const JudgeRequest& request,
                                   const EventSink& sink) {
  return recorder_.execute(caller, deed_of(request, recorder_.trail()), guard_.work(caller), sink,
                           [&](const EventSink& watched) -> Result<void> {
                             const PolicyGate::Demands demands =
                                 GB_TRY(policies_.demands(caller, request.program));
                             const auto judge = [&](const JudgeRequest& raised) -> Result<void> {
                               GB_TRY(policies_.judge(caller, raised, watched));
                               return inner_.judge(caller, raised, watched);
                             };
                             return with_demands(request, demands, judge);
                           });
}

Result<void> GuardedService::run_in_template(const Caller& caller,
                                             const RunRequest& request,
                                             const EventSink& sink) {
  const PolicyGate::Demands demands = GB_TRY(policies_.demands(caller, request));
  return with_demands(request, demands, [&](const RunRequest& raised) -> Result<void> {
    GB_TRY(policies_.run(caller, raised, sink));
    if (raised.checks.reviews.empty()) {
      return inner_.run(caller, raised, sink);
    }
    // The sandbox has ended when the verdict is passed on.
    std::string verdict;
    GB_TRY(inner_.run(caller, raised, [&](std::string_view event) {
      if (is_verdict_event(event)) {
        verdict = event;
        return true;
      }
      return sink(event);
    }));
    if (!verdict.empty()) {
      (void)sink(policies_.reviews().reviewed(caller, raised, verdict, sink));
    }
    return {};
  });
}

Result<void> GuardedService::run(const Caller& caller,
                                 const RunRequest& request,
                                 const EventSink& sink) {
  Result<void> may = guard_.work(caller);
  const bool replays = !request.replay_network.empty();
  if (may && replays) {
    may = guard_.tenant(caller, kAdmin);
  }
  NetworkTape tape;
  return recorder_.execute(
      caller, deed_of(request, recorder_.trail()), std::move(may), sink,
      [&](const EventSink& watched) -> Result<void> {
        if (replays) {
          tape.recording = GB_TRY(recording_of(caller, request.replay_network));
        }
        std::optional<RunRequest> changed;  // A request may have megabytes of files.
        if (!request.image.empty()) {
          const auto wanted = [&watched] { return watched({}); };
          changed = GB_TRY(with_template(caller, request, wanted));
        }
        if (tape.recording || tape.room > 0) {
          changed = changed ? std::move(changed) : request;
          changed->tape = std::move(tape);
        }
        return run_in_template(caller, changed ? *changed : request, watched);
      },
      !replays && lets_out(request.network) ? &tape : nullptr);
}

// What the network answered to a run that the caller may read about.
Result<std::string> GuardedService::recording_of(const Caller& caller, const std::string& run) {
  const audit::Page found =
      GB_TRY(audit_records(caller, {.newest = 1, .action = "run.end", .sandbox = run}));
  const Error none(ErrorCode::kNotFound,
                   "no network was recorded of the run '" + printable(run) + "'",
                   "runs are recorded for this while the daemon runs with --audit-network");
  if (found.records.empty() || recorder_.trail() == nullptr ||
      recorder_.trail()->recordings() == nullptr) {
    return none;
  }
  const audit::Record& end = found.records.front();
  const auto claim = audit::recording_claim(end);
  return claim
             ? recorder_.trail()->recordings()->read(end.entry.tenant, claim->start, claim->sha256)
             : Result<std::string>(none);
}

// Processes.

Result<std::unique_ptr<ProcessFeed>> GuardedService::start_process(const Caller& caller,
                                                                   std::string_view sandbox,
                                                                   const ProcessRequest& request) {
  const Deed starting = deed_of(sandbox, request, recorder_.trail());
  auto feed = recorder_.act(caller, starting, guard_.work(caller, sandbox),
                            [&]() -> Result<std::unique_ptr<ProcessFeed>> {
                              GB_TRY(policies_.process(caller, sandbox, request));
                              return inner_.start_process(caller, sandbox, request);
                            });
  return guard_.feed(caller, std::move(feed));
}

Result<std::unique_ptr<ProcessFeed>> GuardedService::attach_process(const Caller& caller,
                                                                    std::string_view sandbox,
                                                                    std::uint32_t pid) {
  GB_TRY(recorder_.allowed(caller, deed("process.attach", sandbox),
                           guard_.sandbox(caller, kRun, sandbox)));
  return guard_.feed(caller, inner_.attach_process(caller, sandbox, pid));
}

Result<std::vector<ProcessInfo>> GuardedService::processes(const Caller& caller,
                                                           std::string_view sandbox) {
  GB_TRY(recorder_.allowed(caller, deed("process.list", sandbox),
                           guard_.sandbox(caller, kLook, sandbox)));
  return inner_.processes(caller, sandbox);
}

Result<void> GuardedService::signal_process(const Caller& caller,
                                            std::string_view sandbox,
                                            std::uint32_t pid,
                                            int signal) {
  Deed signaling = freeing(deed("process.signal", sandbox));
  signaling.details = {{"pid", pid}, {"signal", signal}};
  return recorder_.act(caller, std::move(signaling), guard_.sandbox(caller, kRun, sandbox),
                       [&] { return inner_.signal_process(caller, sandbox, pid, signal); });
}

Result<void> GuardedService::write_process(const Caller& caller,
                                           std::string_view sandbox,
                                           std::uint32_t pid,
                                           std::string_view bytes) {
  // Keys of a terminal are such writes, and commands: they are recorded, but wait for no disk.
  Deed writing = deed("process.input", sandbox);
  writing.details["pid"] = pid;
  if (recorder_.trail() != nullptr) {
    recorder_.trail()->add_text(writing.details, "input", bytes);
  }
  GB_TRY(recorder_.allowed(caller, writing, guard_.work(caller, sandbox)));
  GB_TRY(recorder_.remark(caller, writing));
  return inner_.write_process(caller, sandbox, pid, bytes);
}

Result<void> GuardedService::close_stdin(const Caller& caller,
                                         std::string_view sandbox,
                                         std::uint32_t pid) {
  GB_TRY(recorder_.allowed(caller, deed("process.input", sandbox),
                           guard_.sandbox(caller, kRun, sandbox)));
  return inner_.close_stdin(caller, sandbox, pid);
}

Result<void> GuardedService::resize(const Caller& caller,
                                    std::string_view sandbox,
                                    std::uint32_t pid,
                                    ProcessRequest::Terminal size) {
  GB_TRY(recorder_.allowed(caller, deed("process.resize", sandbox),
                           guard_.sandbox(caller, kRun, sandbox)));
  return inner_.resize(caller, sandbox, pid, size);
}

// Files, names of templates, and the whole daemon.

Result<FileClient> GuardedService::files(const Caller& caller,
                                         std::string_view sandbox,
                                         FileAccess access) {
  return files_of(caller, sandbox, access, {});
}

Result<FileClient> GuardedService::files_of(const Caller& caller,
                                            std::string_view sandbox,
                                            FileAccess access,
                                            const std::string& user) {
  const auto may = guard_.sandbox(caller, of(access), sandbox);
  Deed opening = deed(access == FileAccess::kUse ? "files.open" : "files.read", sandbox);
  if (!user.empty()) {
    opening.details["user"] = to_utf8(std::string_view(user).substr(0, 64));
  }
  if (access != FileAccess::kUse) {
    GB_TRY(recorder_.allowed(caller, opening, may));
    return limited(access, inner_.files_of(caller, sandbox, access, user));
  }
  return recorder_.follow(caller, opening, recorder_.act(caller, opening, may, [&] {
    return inner_.files_of(caller, sandbox, access, user);
  }));
}

Result<std::vector<std::string>> GuardedService::templates(const Caller& caller) {
  GB_TRY(recorder_.allowed(caller, deed("template.list"), guard_.tenant(caller, kLook)));
  return inner_.templates(caller);
}

std::optional<Ending> GuardedService::ending(const Caller& caller,
                                             std::string_view sandbox,
                                             std::string_view context) {
  return guard_.sandbox(caller, kLook, sandbox) ? inner_.ending(caller, sandbox, context)
                                                : std::nullopt;
}

Result<std::size_t> GuardedService::emergency_stop(const Caller& caller, const StopScope& scope) {
  Deed stopping = freeing(deed_of(scope));
  GB_TRY(recorder_.allowed(caller, stopping, guard_.tenant(caller, kAdmin)));
  // It is done in any case, also where it cannot be recorded.
  auto stopped = inner_.emergency_stop(caller, scope);
  if (stopped) {
    stopping.details["stopped"] = *stopped;
  }
  recorder_.insist(caller, stopping, stopped ? nullptr : &stopped.error());
  return stopped;
}

Result<void> GuardedService::lift_emergency_stop(const Caller& caller, const StopScope& scope) {
  Deed lifting = deed_of(scope);
  lifting.action = "emergency_stop.resume";
  return recorder_.act(caller, std::move(lifting), guard_.tenant(caller, kAdmin),
                       [&] { return inner_.lift_emergency_stop(caller, scope); });
}

Result<std::vector<EmergencyStop>> GuardedService::emergency_stops(const Caller& caller) {
  GB_TRY(recorder_.allowed(caller, deed("emergency_stop.read"), guard_.tenant(caller, kAdmin)));
  return inner_.emergency_stops(caller);
}

Result<audit::Page> GuardedService::audit_records(const Caller& caller, const audit::Query& query) {
  GB_TRY(recorder_.allowed(caller, deed("audit.read"), guard_.tenant(caller, kAdmin)));
  if (recorder_.trail() == nullptr) {
    return inner_.audit_records(caller, query);
  }
  audit::Query own = query;
  if (caller.tenant != kDefaultTenant) {
    own.tenant = caller.tenant;  // The tenant of the daemon itself sees all.
  }
  return recorder_.trail()->read(own);
}

}  // namespace glovebox
