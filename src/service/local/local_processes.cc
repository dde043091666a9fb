// SPDX-License-Identifier: Apache-2.0
// Processes, and the way to files.
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "service/keeper/codec.h"
#include "service/local/local_service.h"
#include "service/local/start_errors.h"

namespace glovebox {
namespace {

using nlohmann::json;

class KeeperFeed final : public ProcessFeed {
 public:
  explicit KeeperFeed(std::unique_ptr<keeper::KeeperStream> stream) : stream_(std::move(stream)) {}
  [[nodiscard]] int fd() const override { return stream_->fd(); }
  Result<ProcessEvent> next() override {
    const auto event = GB_TRY(stream_->next());
    return event ? keeper::to_process_event(keeper::unpack(*event))
                 : ProcessEvent{.kind = ProcessEvent::Kind::kIdle};
  }

 private:
  const std::unique_ptr<keeper::KeeperStream> stream_;
};

// The user that a name, or no name, means. Empty if that is the user that runs everything there.
Result<std::string> user_meant(const std::string& named, const SandboxInfo& info) {
  const std::string& user = named.empty() ? info.run_as : named;
  if (user.empty() || user == (info.as_root ? "root" : "user")) {
    return std::string();
  }
  if (info.as_root) {
    return user;
  }
  return Error(ErrorCode::kInvalid,
               "the processes of this sandbox cannot run as '" + printable(user) + "'",
               "create it with \"user\": \"root\" to run commands as different users");
}

}  // namespace

Result<std::unique_ptr<ProcessFeed>> LocalService::follow_process(const Caller& caller,
                                                                  std::string_view sandbox,
                                                                  std::string_view name,
                                                                  json arguments) {
  arguments["sandbox"] = sandbox;
  auto stream = keeper_.open(name, std::move(arguments));
  if (!stream) {
    return explain(caller, sandbox, std::move(stream).error());
  }
  return std::unique_ptr<ProcessFeed>(std::make_unique<KeeperFeed>(*std::move(stream)));
}

Result<std::unique_ptr<ProcessFeed>> LocalService::start_process(const Caller& caller,
                                                                 std::string_view sandbox,
                                                                 const ProcessRequest& request) {
  ProcessRequest whole = request;
  whole.user = GB_TRY(user_meant(request.user, GB_TRY(awake(caller, sandbox))));
  if (request.command.argv.empty()) {
    return Error(ErrorCode::kInvalid, "a process needs a command");
  }
  auto feed =
      follow_process(caller, sandbox, "start_process", {{"request", keeper::to_json(whole)}});
  if (!feed) {
    return explain_start(files(caller, sandbox, FileAccess::kRead), request.command,
                         std::move(feed).error());
  }
  return feed;
}

Result<std::unique_ptr<ProcessFeed>> LocalService::attach_process(const Caller& caller,
                                                                  std::string_view sandbox,
                                                                  std::uint32_t pid) {
  (void)GB_TRY(awake(caller, sandbox));
  return follow_process(caller, sandbox, "attach_process", {{"pid", pid}});
}

Result<std::vector<ProcessInfo>> LocalService::processes(const Caller& caller,
                                                         std::string_view sandbox) {
  std::vector<ProcessInfo> infos;
  for (const json& info : GB_TRY(call_in(caller, sandbox, "processes", json::object()))) {
    infos.push_back(keeper::to_process_info(info));
  }
  return infos;
}

Result<void> LocalService::signal_process(const Caller& caller,
                                          std::string_view sandbox,
                                          std::uint32_t pid,
                                          int signal) {
  (void)GB_TRY(call_in(caller, sandbox, "signal_process", {{"pid", pid}, {"signal", signal}}));
  return {};
}

Result<void> LocalService::write_process(const Caller& caller,
                                         std::string_view sandbox,
                                         std::uint32_t pid,
                                         std::string_view bytes) {
  (void)GB_TRY(call_in(caller, sandbox, "write_process", {{"pid", pid}, {"bytes", bytes}}));
  return {};
}

Result<void> LocalService::close_stdin(const Caller& caller,
                                       std::string_view sandbox,
                                       std::uint32_t pid) {
  (void)GB_TRY(call_in(caller, sandbox, "close_stdin", {{"pid", pid}}));
  return {};
}

Result<void> LocalService::resize(const Caller& caller,
                                  std::string_view sandbox,
                                  std::uint32_t pid,
                                  ProcessRequest::Terminal size) {
  (void)GB_TRY(call_in(caller, sandbox, "resize",
                       {{"pid", pid}, {"columns", size.columns}, {"rows", size.rows}}));
  return {};
}

Result<FileClient> LocalService::files(const Caller& caller,
                                       std::string_view sandbox,
                                       FileAccess access) {
  return files_of(caller, sandbox, access, {});
}

Result<FileClient> LocalService::files_of(const Caller& caller,
                                          std::string_view sandbox,
                                          FileAccess access,
                                          const std::string& user) {
  const std::string owner = GB_TRY(user_meant(user, GB_TRY(awake(caller, sandbox))));
  std::vector<UniqueFd> passed;
  if (auto answer = keeper_.call(
          "files", {{"sandbox", sandbox}, {"to_use", access == FileAccess::kUse}, {"owner", owner}},
          {}, &passed);
      !answer) {
    return explain(caller, sandbox, std::move(answer).error());
  }
  if (passed.size() != 1) {
    return Error(ErrorCode::kInternal, "the keeper did not pass a connection to the file server");
  }
  return FileClient(std::move(passed.front()));
}

}  // namespace glovebox
