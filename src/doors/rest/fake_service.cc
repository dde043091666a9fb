// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/fake_service.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "doors/rest/fake_feed.h"

namespace glovebox::rest {
namespace {

SandboxInfo info_of(std::string_view id) {
  SandboxInfo info;
  info.id = id;
  info.template_name = "default";
  info.tier = "native";
  info.walls = R"({"user_ns":true})";
  return info;
}

ContextInfo context_of(std::string_view id) {
  return {.id = std::string(id), .language = "python", .cwd = "/workspace"};
}

Error missing() { return {ErrorCode::kNotFound, "no such thing"}; }

}  // namespace

FakeService::FakeService() {
  std::string name = std::filesystem::temp_directory_path() / "gb-rest-XXXXXX";
  workspace = ::mkdtemp(name.data());
}

FakeService::~FakeService() { std::filesystem::remove_all(workspace); }

Result<void> FakeService::known(std::string_view sandbox) {
  ++calls;
  return sandbox == "sb1" ? Result<void>() : missing();
}

Result<void> FakeService::known(std::string_view sandbox, std::string_view context) {
  ++calls;
  return sandbox == "sb1" && context == "c1" ? Result<void>() : missing();
}

Result<Caller> FakeService::authenticate(std::string_view key) {
  if (key == "reader") {
    return Caller{.tenant = "t", .scopes = {"read"}, .key = "reader"};
  }
  if (key == "runner" || key == kRealKey) {
    return Caller{.tenant = "t", .scopes = {"read", "run"}, .key = "runner"};
  }
  if (key == "admin") {
    return Caller{.tenant = "t", .scopes = {"read", "run", "admin", "approve"}, .key = "admin"};
  }
  return Error(ErrorCode::kRefused, "no such key");
}

Caller FakeService::unix_peer() { return {.tenant = "unix", .scopes = {"read", "run", "admin"}}; }

Result<void> FakeService::admit(const Caller& caller, std::string_view) {
  return !revoked.empty() && caller.key == revoked ? Error(ErrorCode::kRefused, "no such key")
                                                   : Result<void>();
}

Result<void> FakeService::renew(const Caller& caller) { return admit(caller, {}); }

Result<Bearer> FakeService::bearer(std::string_view sandbox) {
  GB_TRY(known(sandbox));
  return Bearer{.caller = {.tenant = "t",
                           .scopes = {"read", "run"},
                           .key = {},
                           .sandbox = std::string(sandbox)},
                .info = info_of(sandbox)};
}

Result<SandboxInfo> FakeService::create(const Caller&, const SandboxRequest& request) {
  ++calls;
  created = request;
  GB_TRY(Result<void>(create_outcome));
  return info_of("sb1");
}
Result<SandboxInfo> FakeService::find(const Caller&, std::string_view id) {
  GB_TRY(known(id));
  SandboxInfo info = info_of(id);
  info.extra = extra;
  return info;
}
Result<SandboxPage> FakeService::list(const Caller&, const SandboxQuery& query) {
  ++calls;
  queried = query;
  SandboxInfo info = info_of("sb1");
  info.extra = extra;
  return SandboxPage{.sandboxes = {std::move(info)}, .next = "more"};
}
Result<SandboxInfo> FakeService::change(const Caller&, std::string_view id, const SandboxChange&) {
  GB_TRY(known(id));
  return info_of(id);
}
Result<void> FakeService::kill(const Caller&, std::string_view id) { return known(id); }
Result<void> FakeService::pause(const Caller&, std::string_view id, PauseTo /*to*/) {
  return known(id);
}
Result<SandboxInfo> FakeService::resume(const Caller&, std::string_view id) {
  GB_TRY(known(id));
  return info_of(id);
}
Result<SandboxUsage> FakeService::usage(const Caller&, std::string_view id) {
  GB_TRY(known(id));
  return SandboxUsage{};
}
Result<SandboxConnections> FakeService::connections(const Caller&, std::string_view id) {
  GB_TRY(known(id));
  ConnectionRecord record;
  record.host = "pypi.org";
  record.port = 443;
  return SandboxConnections{.connections = {record}, .more = 2};
}
Result<std::string> FakeService::snapshot(const Caller&,
                                          std::string_view id,
                                          std::string_view name) {
  GB_TRY(known(id));
  return std::string(name);
}
Result<std::vector<SandboxInfo>> FakeService::fork(const Caller&,
                                                   std::string_view id,
                                                   const ForkRequest& request) {
  GB_TRY(known(id));
  return std::vector<SandboxInfo>(request.count, info_of("copy"));
}
Result<void> FakeService::export_archive(const Caller&,
                                         std::string_view id,
                                         const ArchiveSink& sink) {
  GB_TRY(known(id));
  return sink.begin(2) && sink.take("{}")
             ? Result<void>()
             : Error(ErrorCode::kUnavailable, "the client of the archive has left");
}
Result<SandboxRequest> FakeService::open_archive(const Caller&, const FileClient::Source&) {
  return SandboxRequest{};
}
Result<ContextInfo> FakeService::create_context(const Caller&,
                                                std::string_view sandbox,
                                                const ContextRequest&) {
  GB_TRY(known(sandbox));
  return context_of("c1");
}
Result<std::vector<ContextInfo>> FakeService::contexts(const Caller&, std::string_view sandbox) {
  GB_TRY(known(sandbox));
  return std::vector{context_of("c1")};
}
Result<void> FakeService::delete_context(const Caller&,
                                         std::string_view sandbox,
                                         std::string_view context) {
  return known(sandbox, context);
}
Result<void> FakeService::restart_context(const Caller&,
                                          std::string_view sandbox,
                                          std::string_view context) {
  return known(sandbox, context);
}
Result<void> FakeService::interrupt(const Caller&,
                                    std::string_view sandbox,
                                    std::string_view context) {
  return known(sandbox, context);
}
Result<void> FakeService::execute(const Caller&,
                                  std::string_view sandbox,
                                  std::string_view context,
                                  const ExecuteRequest& request,
                                  const EventSink& sink) {
  GB_TRY(known(sandbox, context));
  executed = request;
  return execution(sink);
}
Result<void> FakeService::reply_input(const Caller&,
                                      std::string_view sandbox,
                                      std::string_view context,
                                      const InputReply& reply) {
  GB_TRY(known(sandbox, context));
  replied = reply;
  return {};
}
Result<void> FakeService::reply_tool(const Caller&,
                                     std::string_view sandbox,
                                     std::string_view context,
                                     const ToolReply& reply) {
  GB_TRY(known(sandbox, context));
  returned = reply;
  return {};
}
Result<Completion> FakeService::complete(const Caller&,
                                         std::string_view sandbox,
                                         std::string_view context,
                                         const CodePlace& place) {
  GB_TRY(known(sandbox, context));
  asked = place;
  return Completion{.matches = {"path"}, .start = 3, .end = 5};
}
Result<Inspection> FakeService::inspect(const Caller&,
                                        std::string_view sandbox,
                                        std::string_view context,
                                        const CodePlace& place,
                                        int how_much) {
  GB_TRY(known(sandbox, context));
  asked = place;
  detail = how_much;
  return Inspection{.found = true, .data = {{"text/plain", "doc"}}};
}
Result<std::uint32_t> FakeService::checkpoint(const Caller&,
                                              std::string_view sandbox,
                                              std::string_view context) {
  GB_TRY(known(sandbox, context));
  return 7U;
}
Result<std::uint32_t> FakeService::rollback(const Caller&,
                                            std::string_view sandbox,
                                            std::string_view context,
                                            std::optional<std::uint32_t> checkpoint) {
  GB_TRY(known(sandbox, context));
  return checkpoint.value_or(1);
}
Result<ContextInfo> FakeService::fork_context(const Caller&,
                                              std::string_view sandbox,
                                              std::string_view context,
                                              std::uint32_t) {
  GB_TRY(known(sandbox, context));
  return context_of("c2");
}
Result<std::vector<std::string>> FakeService::dry_runs(const Caller&, std::string_view sandbox) {
  GB_TRY(known(sandbox));
  return std::vector<std::string>{R"({"id":"d1","context":"c1"})"};
}
Result<void> FakeService::decide_dry_run(const Caller&,
                                         std::string_view sandbox,
                                         std::string_view dry_run,
                                         const DryRunDecision& decision) {
  GB_TRY(known(sandbox));
  if (dry_run != "d1") {
    return Error(ErrorCode::kNotFound, "no undecided dry run");
  }
  committed = decision.commit;
  return {};
}
Result<std::string> FakeService::notebook(const Caller&,
                                          std::string_view sandbox,
                                          std::string_view context,
                                          NotebookFormat) {
  GB_TRY(known(sandbox, context));
  return std::string("{}");
}
Result<void> FakeService::install_packages(const Caller&,
                                           std::string_view sandbox,
                                           const PackagesRequest& request,
                                           const EventSink& sink) {
  GB_TRY(known(sandbox));
  ++calls;
  installed = request;
  return execution(sink);
}
Result<void> FakeService::judge(const Caller&, const JudgeRequest&, const EventSink& sink) {
  ++calls;
  return execution(sink);
}
Result<void> FakeService::run(const Caller&, const RunRequest& request, const EventSink& sink) {
  ++calls;
  ran = request;
  return execution(sink);
}
Result<std::unique_ptr<ProcessFeed>> FakeService::start_process(const Caller&,
                                                                std::string_view sandbox,
                                                                const ProcessRequest& request) {
  GB_TRY(known(sandbox));
  started = request;
  return std::unique_ptr<ProcessFeed>(std::make_unique<FakeFeed>(process));
}
Result<std::unique_ptr<ProcessFeed>> FakeService::attach_process(const Caller&,
                                                                 std::string_view sandbox,
                                                                 std::uint32_t) {
  GB_TRY(known(sandbox));
  return std::unique_ptr<ProcessFeed>(std::make_unique<FakeFeed>(process));
}
Result<std::vector<ProcessInfo>> FakeService::processes(const Caller&, std::string_view sandbox) {
  GB_TRY(known(sandbox));
  ProcessInfo info;
  info.pid = 5;
  info.command.argv = {"sh"};
  return std::vector{info};
}
Result<void> FakeService::signal_process(const Caller&,
                                         std::string_view sandbox,
                                         std::uint32_t,
                                         int signal) {
  signaled = signal;
  return known(sandbox);
}
Result<void> FakeService::write_process(const Caller&,
                                        std::string_view sandbox,
                                        std::uint32_t,
                                        std::string_view bytes) {
  written += bytes;
  return known(sandbox);
}
Result<void> FakeService::close_stdin(const Caller&, std::string_view sandbox, std::uint32_t) {
  stdin_closed = true;
  return known(sandbox);
}
Result<void> FakeService::resize(const Caller&,
                                 std::string_view sandbox,
                                 std::uint32_t,
                                 ProcessRequest::Terminal size) {
  resized = size;
  return known(sandbox);
}

Result<FileClient> FakeService::files(const Caller&, std::string_view sandbox, FileAccess) {
  GB_TRY(known(sandbox));
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t first = ::fork();
  if (first == 0) {
    // Twice, so that nobody has to wait for it.
    if (::fork() == 0 && ::chdir(workspace.c_str()) == 0 && ::dup2(theirs.get(), 3) == 3 &&
        ::fcntl(3, F_SETFD, 0) == 0) {
      ::execl(GLOVEBOX_FILES, "glovebox-files", nullptr);
    }
    ::_exit(0);
  }
  (void)::waitpid(first, nullptr, 0);
  return FileClient(std::move(ours));
}

Result<std::string> FakeService::languages() {
  ++calls;
  return std::string(R"({"languages":[]})");
}
Result<std::vector<std::string>> FakeService::templates(const Caller&) {
  ++calls;
  return std::vector<std::string>{"default"};
}
std::optional<Ending> FakeService::ending(const Caller&,
                                          std::string_view sandbox,
                                          std::string_view context) {
  if (sandbox == "sb0") {
    return Ending{.reason = EndReason::kOutOfMemory};
  }
  return sandbox == "sb1" && context == "c0" ? std::optional(Ending{.reason = EndReason::kDeleted})
                                             : std::nullopt;
}

Result<std::size_t> FakeService::emergency_stop(const Caller&, const StopScope& scope) {
  ++calls;
  stops.push_back({.scope = scope, .by_tenant = "t", .by_key = "k1"});
  return std::size_t{3};
}

Result<void> FakeService::lift_emergency_stop(const Caller&, const StopScope& scope) {
  ++calls;
  const std::size_t lifted =
      std::erase_if(stops, [&](const EmergencyStop& stop) { return stop.scope == scope; });
  return lifted > 0 ? Result<void>() : Error(ErrorCode::kNotFound, "there is no such stop");
}

Result<std::vector<EmergencyStop>> FakeService::emergency_stops(const Caller&) {
  ++calls;
  return stops;
}

std::optional<EmergencyStop> FakeService::stop_of(std::string_view tenant,
                                                  std::string_view sandbox) {
  for (const EmergencyStop& stop : stops) {
    if (covers(stop.scope, tenant, sandbox)) {
      return stop;
    }
  }
  return std::nullopt;
}

}  // namespace glovebox::rest
