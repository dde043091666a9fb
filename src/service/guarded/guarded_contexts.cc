// SPDX-License-Identifier: Apache-2.0
// GuardedService's contexts.
#include "service/guarded/deeds.h"
#include "service/guarded/guarded_service.h"

namespace glovebox {
namespace {

using enum Need;

}  // namespace

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
  // Taking something back is possible while the disk is full, and in a stopped sandbox.
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

}  // namespace glovebox
