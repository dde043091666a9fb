// SPDX-License-Identifier: Apache-2.0
// SandboxService: all that a door may ask for. A door translates; what it means is decided here.
//
// Every call names its caller, and finds nothing that belongs to another tenant: what is not the
// caller's does not exist (kNotFound). What the caller's key does not allow is kRefused; that is
// decided in one place, service/guarded/, through which every door calls. Calls may come from any
// thread, and block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/query.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "context/request_box.h"
#include "files/file_client.h"
#include "sandbox/tiers/tier.h"
#include "service/caller.h"
#include "service/emergency_stop.h"
#include "service/ending.h"
#include "service/judge_case.h"
#include "service/process_feed.h"
#include "spec/code_place.h"
#include "spec/command.h"
#include "spec/connection_record.h"
#include "spec/exec_rules.h"
#include "spec/limit_fields.h"
#include "spec/limits.h"
#include "spec/network_rules.h"

namespace glovebox {

using SystemTime = std::chrono::system_clock::time_point;

// Where the workspace is. In memory it ends with its sandbox, and counts as memory. On disk it
// survives the end of the keeper and of the machine.
enum class Storage { kMemory, kDisk };

// A volume (service/volume_service.h) in a sandbox.
struct VolumeMount {
  std::string volume{};  // Its name or id; its id where it is told.
  std::string path{};    // Absolute, inside.
  bool read_only = false;
};

enum class OnTimeout { kKill, kPause };
enum class SandboxState { kRunning, kPaused };

struct SandboxRequest {
  std::string template_name = "default";
  std::chrono::milliseconds timeout{300'000};
  OnTimeout on_timeout = OnTimeout::kKill;
  bool auto_resume = false;  // A call that needs it running resumes it.
  LimitWishes limits{};
  Environment env{};
  std::map<std::string, std::string> metadata{};
  TierWish tier{};
  bool as_root = false;                 // Its processes are root inside (SandboxSpec::as_root).
  std::vector<std::string> policies{};  // Shipped ones, which hold beside the daemon's own.
  ExecRules exec{};                     // The service's to set, by those policies.
  NetworkRules network{};
  // Where the operator lets no sandbox out, it is made without a network. Else that is kRefused.
  bool network_optional = false;
  std::string extra = "{}";          // JSON that a door wants to find again; tokens among it.
  std::string idempotency_key{};     // The same key and tenant: the same sandbox.
  std::optional<Storage> storage{};  // Nothing: as the template says, else in memory.
  std::vector<VolumeMount> volumes{};
};

struct SandboxInfo {
  std::string id{};
  std::string template_name{};
  std::string tier{};
  SandboxState state = SandboxState::kRunning;
  SystemTime created{};
  SystemTime expires{};
  OnTimeout on_timeout = OnTimeout::kKill;
  bool auto_resume = false;
  bool as_root = false;
  std::vector<std::string> policies{};
  ExecRules exec{};  // For the service alone.
  Limits limits{};
  Environment env{};
  std::map<std::string, std::string> metadata{};
  NetworkRules network{};
  std::string extra = "{}";  // Empty for callers who may not use the sandbox.
  std::string walls{};       // JSON, as in a verdict.
  Storage storage = Storage::kMemory;
  std::vector<VolumeMount> volumes{};
  // For the service alone: what its template was when it was made, as that may be removed, or be
  // another one of the same name. Empty of the templates that are always there.
  std::string base{};
  // Its processes are gone, because the machine or the keeper ended meanwhile; its workspace on
  // disk is what it was.
  bool restarted = false;
};

struct SandboxQuery {
  std::map<std::string, std::string> metadata{};  // All of them must match.
  std::vector<SandboxState> states{};             // Empty: any.
  std::size_t limit = 100;
  std::string after{};  // `next` of the page before.
};
struct SandboxPage {
  std::vector<SandboxInfo> sandboxes{};  // Newest first.
  std::string next{};                    // Empty: no more.
};

struct SandboxChange {
  std::optional<std::chrono::milliseconds> timeout{};  // From now.
  std::optional<OnTimeout> on_timeout{};
  std::optional<bool> auto_resume{};
  std::optional<std::map<std::string, std::string>> metadata{};
  std::optional<NetworkRules> network{};
  bool network_optional = false;  // As SandboxRequest's.
  std::optional<std::string> extra{};
  // The sandbox as it was when this was made from it: kConflict when what this would replace, of
  // the three above, has changed since. Nothing: replaces whatever is there.
  std::optional<SandboxInfo> made_from{};
};

struct SandboxUsage {
  SystemTime at{};
  double cpus = 0;                        // Its limit.
  std::chrono::microseconds cpu_used{0};  // Since its creation.
  Bytes memory_used{};
  Bytes memory_limit{};
  Bytes disk_used{};
  Bytes disk_limit{};
  std::uint64_t pids = 0;
};

// The connections of a sandbox with network rules that have ended, the first ones in front.
struct SandboxConnections {
  std::vector<ConnectionRecord> connections{};  // At most Verdict::kMaxConnections.
  std::uint64_t more = 0;                       // That are not among them.
};

struct ContextInfo {
  std::string id{};
  std::string language{};
  std::string cwd{};
  bool alive = true;
  bool busy = false;
};
struct ContextRequest {
  std::string language = "python";
  std::string cwd{};  // Empty: the workspace.
  Environment env{};
};

struct ExecuteRequest {
  std::string code{};
  Environment env{};
  LimitWishes limits{};
  bool recover = false;
  bool store_history = true;
  bool allow_input = false;       // input() asks by an event; else it finds the end of input.
  ToolOffer tools{};              // What it may call, by events that ask for an answer.
  std::string idempotency_key{};  // The same key and context: the execution that has it already.
};

// What code that is executed with `allow_input` reads as its next line.
struct InputReply {
  static constexpr std::size_t kMaxValue = RequestBox::kMaxLine;

  std::optional<std::string> value{};      // Absent: the end of input.
  std::optional<std::uint64_t> request{};  // Of the event; absent: whatever is asked for now.
};

// What a tool that the code called has returned.
struct ToolReply {
  std::string call{};  // Its id, from the event.
  ToolAnswer answer{};
};

struct PackagesRequest {
  std::vector<std::string> packages{};  // As parse_packages() takes them.
  LimitWishes limits{};                 // Five minutes when they do not say.
};

struct RunRequest {
  std::string language{};
  std::string code{};
  std::string name{};
  std::vector<std::string> arguments{};
  std::string standard_input{};
  std::map<std::string, std::string> files{};  // Name to bytes, copied in.
  Environment env{};
  LimitWishes limits{};
  TierWish tier{};
  bool as_root = false;
  std::vector<std::string> policies{};  // As a sandbox's.
  ExecRules exec{};                     // Likewise.
  std::string verify{};
  NetworkRules network{};
  std::string idempotency_key{};
};

// A program that is compiled once and judged by cases (service/judge/judge.h). Of `program`, its
// standard input, its verification, its network and its key do not count.
struct JudgeRequest {
  RunRequest program{};
  std::vector<JudgeCase> cases{};
  std::string compare = "lines";        // As judge::parse_comparison() reads it.
  std::optional<RunRequest> checker{};  // Decides in place of the comparison.
  std::uint32_t jobs = 1;               // Cases at once, as far as the tenant's quota allows.
  bool stop_at_first = false;
};

// Events as they happen, each one JSON object (contracts.md), the last one the verdict; "started"
// carries `execution_count` in a context. Empty once a second while nothing happens, so that a door
// can look after its listener. False: nobody listens any more, and what runs is interrupted.
using EventSink = std::function<bool(std::string_view json)>;

struct ProcessRequest {
  Command command{};
  struct Terminal {
    std::uint16_t columns = 80;
    std::uint16_t rows = 24;
  };
  std::optional<Terminal> terminal{};
  bool keep_stdin = false;  // Else it reads the end of input at once.
  std::string tag{};
  std::chrono::milliseconds timeout{0};  // 0: as long as the sandbox.
  bool start_only = false;               // The feed has kStarted and nothing else.
};
struct ProcessInfo {
  std::uint32_t pid = 0;  // As inside the sandbox.
  Command command{};
  std::string tag{};
  bool terminal = false;
  bool alive = true;
};
// A sandbox, and a caller who may use it and nothing else.
struct Bearer {
  Caller caller{};
  SandboxInfo info{};
};

class TemplateService;
class TenantService;
class SecretService;
class VolumeService;

class SandboxService {
 public:
  virtual ~SandboxService() = default;

  // The caller that holds this key; kRefused when nobody does. Takes the same time for all that are
  // wrong. `unix_peer` is a caller that has proved to be who runs this daemon.
  virtual Result<Caller> authenticate(std::string_view key) = 0;
  virtual Caller unix_peer() = 0;
  // kRefused once the caller's key was revoked or has expired, and where it lacks this scope. For
  // what a door does without any other call, and before it parses a request.
  virtual Result<void> admit(const Caller& caller, std::string_view scope) = 0;
  // Counts a further request of a caller who was authenticated before: for each message on a
  // connection that stays open. kRefused once their key was revoked or has expired.
  virtual Result<void> renew(const Caller& caller) = 0;
  // For clients that show a token of a sandbox where others show a key. Nothing is proved yet: the
  // door compares the token before it uses the caller. A caller with the id of a key in it is
  // refused once that key is no longer valid.
  virtual Result<Bearer> bearer(std::string_view sandbox) = 0;
  // All that there are now.
  virtual std::vector<Bearer> bearers() = 0;
  // Random, the same after a restart: for what doors sign. As long as this object.
  [[nodiscard]] virtual std::string_view signing_key() const = 0;
  // What the operator lets sandboxes reach at most.
  [[nodiscard]] virtual NetworkPolicy network_policy() const = 0;
  // Whether a sandbox can be had as fast as ever; after a start it takes some seconds.
  virtual bool ready() = 0;

  // Sandboxes.
  virtual Result<SandboxInfo> create(const Caller& caller, const SandboxRequest& request) = 0;
  virtual Result<SandboxInfo> find(const Caller& caller, std::string_view id) = 0;
  virtual Result<SandboxPage> list(const Caller& caller, const SandboxQuery& query) = 0;
  virtual Result<SandboxInfo> change(const Caller& caller,
                                     std::string_view id,
                                     const SandboxChange& change) = 0;
  virtual Result<void> kill(const Caller& caller, std::string_view id) = 0;
  virtual Result<void> pause(const Caller& caller, std::string_view id) = 0;
  virtual Result<SandboxInfo> resume(const Caller& caller, std::string_view id) = 0;
  virtual Result<SandboxUsage> usage(const Caller& caller, std::string_view id) = 0;
  // Empty of one without network rules.
  virtual Result<SandboxConnections> connections(const Caller& caller, std::string_view id) = 0;
  // A name under which sandboxes with these files can be made: a template of the tenant's.
  virtual Result<std::string> snapshot(const Caller& caller,
                                       std::string_view id,
                                       std::string_view name) = 0;
  // Copies with the files as they are now. Contexts are not copied (contract of the tier native).
  virtual Result<std::vector<SandboxInfo>> fork(
      const Caller& caller,
      std::string_view id,
      std::size_t count,
      std::optional<std::chrono::milliseconds> timeout) = 0;

  // Contexts.
  virtual Result<ContextInfo> create_context(const Caller& caller,
                                             std::string_view sandbox,
                                             const ContextRequest& request) = 0;
  // Oldest first.
  virtual Result<std::vector<ContextInfo>> contexts(const Caller& caller,
                                                    std::string_view sandbox) = 0;
  virtual Result<void> delete_context(const Caller& caller,
                                      std::string_view sandbox,
                                      std::string_view context) = 0;
  virtual Result<void> restart_context(const Caller& caller,
                                       std::string_view sandbox,
                                       std::string_view context) = 0;
  virtual Result<void> interrupt(const Caller& caller,
                                 std::string_view sandbox,
                                 std::string_view context) = 0;
  // One after the other in a context; waits for its turn. Answers when the sink has had the
  // verdict. kUnavailable when the sandbox died meanwhile: then the sink had none.
  virtual Result<void> execute(const Caller& caller,
                               std::string_view sandbox,
                               std::string_view context,
                               const ExecuteRequest& request,
                               const EventSink& sink) = 0;
  // Replies to the oldest request for input of what is executed, once. kConflict when there is
  // none, or when it is another than the reply names; kInvalid when the value is too large.
  virtual Result<void> reply_input(const Caller& caller,
                                   std::string_view sandbox,
                                   std::string_view context,
                                   const InputReply& reply) = 0;
  // Answers a call of a tool, once, also of a paused sandbox. kNotFound when there never was such a
  // call, kConflict when it is not open any more, kInvalid when the answer is too large or no JSON.
  virtual Result<void> reply_tool(const Caller& caller,
                                  std::string_view sandbox,
                                  std::string_view context,
                                  const ToolReply& reply) = 0;
  // As Context's. They wait for their turn for some seconds: kConflict when the context stays busy.
  virtual Result<Completion> complete(const Caller& caller,
                                      std::string_view sandbox,
                                      std::string_view context,
                                      const CodePlace& place) = 0;
  virtual Result<Inspection> inspect(const Caller& caller,
                                     std::string_view sandbox,
                                     std::string_view context,
                                     const CodePlace& place,
                                     int detail) = 0;
  virtual Result<std::uint32_t> checkpoint(const Caller& caller,
                                           std::string_view sandbox,
                                           std::string_view context) = 0;
  // To the newest checkpoint where none is named. Returns which it was.
  virtual Result<std::uint32_t> rollback(const Caller& caller,
                                         std::string_view sandbox,
                                         std::string_view context,
                                         std::optional<std::uint32_t> checkpoint) = 0;
  virtual Result<ContextInfo> fork_context(const Caller& caller,
                                           std::string_view sandbox,
                                           std::string_view context,
                                           std::uint32_t checkpoint) = 0;
  enum class NotebookFormat { kIpynb, kHtml };
  virtual Result<std::string> notebook(const Caller& caller,
                                       std::string_view sandbox,
                                       std::string_view context,
                                       NotebookFormat format) = 0;

  // Installs packages into the workspace, from what the operator offers; contexts that live already
  // see them. Events and verdict as of an execution; kUnsupported where nothing is offered.
  virtual Result<void> install_packages(const Caller& caller,
                                        std::string_view sandbox,
                                        const PackagesRequest& request,
                                        const EventSink& sink) = 0;

  // A fresh sandbox for one piece of code.
  // An event "case" for each case when it and those before it have ended; the last event is the
  // report.
  virtual Result<void> judge(const Caller& caller,
                             const JudgeRequest& request,
                             const EventSink& sink) = 0;
  virtual Result<void> run(const Caller& caller,
                           const RunRequest& request,
                           const EventSink& sink) = 0;

  // Processes. A process outlives who follows it; who attaches later gets what it says from then
  // on; the first one also what was kept until then. A feed is for one thread at a time, and ends
  // before this object.
  virtual Result<std::unique_ptr<ProcessFeed>> start_process(const Caller& caller,
                                                             std::string_view sandbox,
                                                             const ProcessRequest& request) = 0;
  virtual Result<std::unique_ptr<ProcessFeed>> attach_process(const Caller& caller,
                                                              std::string_view sandbox,
                                                              std::uint32_t pid) = 0;
  // Also those that ended a moment ago.
  virtual Result<std::vector<ProcessInfo>> processes(const Caller& caller,
                                                     std::string_view sandbox) = 0;
  virtual Result<void> signal_process(const Caller& caller,
                                      std::string_view sandbox,
                                      std::uint32_t pid,
                                      int signal) = 0;
  virtual Result<void> write_process(const Caller& caller,
                                     std::string_view sandbox,
                                     std::uint32_t pid,
                                     std::string_view bytes) = 0;
  virtual Result<void> close_stdin(const Caller& caller,
                                   std::string_view sandbox,
                                   std::uint32_t pid) = 0;
  virtual Result<void> resize(const Caller& caller,
                              std::string_view sandbox,
                              std::uint32_t pid,
                              ProcessRequest::Terminal size) = 0;

  // Files and ports. A client is for one thread; ask for one for each request. One for reading
  // refuses whatever else it is asked for.
  virtual Result<FileClient> files(const Caller& caller,
                                   std::string_view sandbox,
                                   FileAccess access) = 0;

  // JSON text: {"languages":[…]} as `glovebox languages --json`, and the templates of a tenant.
  virtual Result<std::string> languages() = 0;
  virtual Result<std::vector<std::string>> templates(const Caller& caller) = 0;

  // As long as this object.
  virtual VolumeService& volumes() = 0;
  virtual SecretService& secrets() = 0;
  virtual TenantService& tenants() = 0;
  virtual TemplateService& template_service() = 0;

  // How a sandbox of the caller's ended, or a context of one that lives where `context` names one.
  // Nothing of what lives, was never there, is another tenant's, or is no longer remembered. For
  // who has met kNotFound or kUnavailable.
  virtual std::optional<Ending> ending(const Caller& caller,
                                       std::string_view sandbox,
                                       std::string_view context) = 0;

  // Ends every sandbox and every execution of the scope, and lets nothing begin there until the
  // stop is lifted, also after a restart. Workspaces on disk stay as they are. Returns how many
  // sandboxes it were. kNotFound for what is no tenant or no sandbox.
  virtual Result<std::size_t> emergency_stop(const Caller& caller, const StopScope& scope) = 0;
  // kNotFound where there is no stop of this very scope.
  virtual Result<void> lift_emergency_stop(const Caller& caller, const StopScope& scope) = 0;
  // Oldest first.
  virtual Result<std::vector<EmergencyStop>> emergency_stops(const Caller& caller) = 0;
  // One that is in effect for a sandbox, or for the tenant where the id is empty. Never waits.
  [[nodiscard]] virtual std::optional<EmergencyStop> stop_of(std::string_view tenant,
                                                             std::string_view sandbox) = 0;

  // Records of the audit journal: of the caller's tenant, or of all for the daemon's own.
  virtual Result<audit::Page> audit_records(const Caller&, const audit::Query&) {
    return Error(ErrorCode::kUnsupported, "this daemon keeps no audit journal",
                 "start it without '--audit off'");
  }
};

}  // namespace glovebox
