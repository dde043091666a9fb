// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/guarded_service.h"

#include <utility>

#include "base/text.h"
#include "service/guarded/deeds.h"
#include "service/guarded/policy_demands.h"
#include "store/tenant_records.h"

namespace glovebox {
namespace {

using enum Need;

// Only callers that may use the sandbox may see this: `extra` has tokens in it.
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

// An emergency stop does not wait for a sandbox that is being made, and must not miss it.
Result<SandboxInfo> GuardedService::unless_stopped(const Caller& caller, Result<SandboxInfo> made) {
  const auto stop = made ? inner_.stop_of(caller.tenant, made->id) : std::nullopt;
  if (stop) {
    (void)inner_.kill(caller, made->id);
    return refusal_by(*stop);
  }
  return made;
}

// Pauses, and does not kill: the workspace on disk is evidence, which an end would take away.
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

// Sandboxes.

Result<SandboxInfo> GuardedService::create_from_template(const Caller& caller,
                                                         const SandboxRequest& request) {
  const PolicyDemands demands = GB_TRY(policies_.holding().demands(caller, request));
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
                   : create_from_template(
                         caller, GB_TRY(images_.in_place_of_image(caller, request, [&request] {
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

// Policies make their demands when a sandbox is created from it.
Result<SandboxRequest> GuardedService::open_archive(const Caller& caller,
                                                    const FileClient::Source& source) {
  return recorder_.act(caller, deed("sandbox.import"), guard_.work(caller),
                       [&] { return inner_.open_archive(caller, source); });
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
  // It is done even if it cannot be recorded.
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
