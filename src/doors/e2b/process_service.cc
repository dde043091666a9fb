// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/process_service.h"

#include <csignal>
#include <cstring>

#include <algorithm>

#include "base/base64.h"
#include "doors/e2b/options.h"
#include "doors/e2b/process_json.h"
#include "doors/e2b/process_stream.h"
#include "doors/e2b/tokens.h"
#include "doors/e2b/users.h"

namespace glovebox::e2b {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxArguments = 10'000;

Result<std::uint16_t> cells(const Json& size, const char* name, std::uint16_t otherwise) {
  const std::int64_t number = GB_TRY(number_member(size, name)).value_or(otherwise);
  if (number < 0 || number > UINT16_MAX) {
    return Error(ErrorCode::kInvalid, "invalid terminal size");
  }
  return number == 0 ? otherwise : static_cast<std::uint16_t>(number);
}

Result<ProcessRequest::Terminal> terminal_size(const Json& pty) {
  const Json size = GB_TRY(object_member(pty, "size"));
  ProcessRequest::Terminal terminal;
  terminal.columns = GB_TRY(cells(size, "cols", 80));
  terminal.rows = GB_TRY(cells(size, "rows", 24));
  return terminal;
}

}  // namespace

void ProcessService::serve(std::string_view method,
                           const Visit& visit,
                           http::Request& request,
                           http::Response& response) {
  const bool streams = method == "Start" || method == "Connect" || method == "StreamInput";
  const auto user = user_of_call(service_, visit, request);
  if (!user) {
    const RpcError error = refused_user(user.error());
    streams ? refuse_streaming(response, error) : refuse_unary(response, error);
    return;
  }
  if (method == "Start") {
    start(visit, *user, request, response);
  } else if (method == "Connect") {
    connect(visit, request, response);
  } else if (method == "StreamInput") {
    stream_input(visit, request, response);
  } else if (const auto answered = call(method, visit, request)) {
    answer_unary(response, *answered);
  } else {
    refuse_unary(response, rpc_error(answered.error()));
  }
}

Result<Json> ProcessService::call(std::string_view method,
                                  const Visit& visit,
                                  http::Request& request) {
  const Json message = GB_TRY(read_unary(request));
  const auto nothing = [](const Result<void>& done) -> Result<Json> {
    if (!done) {
      return done.error();
    }
    return Json::object();
  };
  if (method == "List") {
    return list(visit);
  }
  if (method == "SendInput") {
    return nothing(send_input(visit, message));
  }
  if (method == "SendSignal") {
    return nothing(send_signal(visit, message));
  }
  if (method == "Update") {
    return nothing(update(visit, message));
  }
  if (method == "CloseStdin") {
    return nothing(close_stdin(visit, message));
  }
  return Error(ErrorCode::kUnsupported, "unknown method");
}

Result<Json> ProcessService::list(const Visit& visit) {
  Json processes = Json::array();
  for (const ProcessInfo& each : GB_TRY(service_.processes(visit.caller, visit.info.id))) {
    if (each.alive) {
      processes.push_back(process_json(each));
    }
  }
  return Json{{"processes", std::move(processes)}};
}

Result<std::uint32_t> ProcessService::selected(const Visit& visit, const Json& message) {
  const Json selector = GB_TRY(object_member(message, "process"));
  if (const auto pid = GB_TRY(number_member(selector, "pid"))) {
    if (*pid <= 0 || *pid > UINT32_MAX) {
      return Error(ErrorCode::kNotFound, "process with pid " + std::to_string(*pid) + " not found");
    }
    return static_cast<std::uint32_t>(*pid);
  }
  const auto tag = GB_TRY(text_member(selector, "tag"));
  if (!tag || tag->empty()) {
    return Error(ErrorCode::kInvalid, "no process specified");
  }
  for (const ProcessInfo& each : GB_TRY(service_.processes(visit.caller, visit.info.id))) {
    if (each.alive && each.tag == *tag) {
      return each.pid;
    }
  }
  return Error(ErrorCode::kNotFound, "process with tag " + *tag + " not found");
}

Result<void> ProcessService::write(const Visit& visit, std::uint32_t pid, const Json& input) {
  std::optional<std::string> text;
  for (const char* kind : {"stdin", "pty"}) {
    if (!text) {
      text = GB_TRY(text_member(input, kind));
    }
  }
  const auto bytes = from_base64(text.value_or(""));
  if (!bytes) {
    return Error(ErrorCode::kInvalid, "the input is not valid base64");
  }
  auto written = service_.write_process(visit.caller, visit.info.id, pid, *bytes);
  // E2B's code for a process that takes no input.
  if (!written && (written.error().code() == ErrorCode::kConflict ||
                   written.error().code() == ErrorCode::kInvalid)) {
    return Error(ErrorCode::kInternal, written.error().message());
  }
  return written;
}

Result<void> ProcessService::send_input(const Visit& visit, const Json& message) {
  const std::uint32_t pid = GB_TRY(selected(visit, message));
  const Json input = GB_TRY(object_member(message, "input"));
  return write(visit, pid, input);
}

Result<void> ProcessService::send_signal(const Visit& visit, const Json& message) {
  const std::uint32_t pid = GB_TRY(selected(visit, message));
  const Json* wanted = member(message, "signal");
  int number = 0;
  if (wanted != nullptr && wanted->is_string()) {
    const auto name = wanted->get<std::string>();
    number = name == "SIGNAL_SIGKILL" ? SIGKILL : name == "SIGNAL_SIGTERM" ? SIGTERM : 0;
  } else {
    number = static_cast<int>(GB_TRY(number_member(message, "signal")).value_or(0) & 0x7F);
  }
  if (number != SIGKILL && number != SIGTERM) {
    return Error(ErrorCode::kInvalid, "only SIGKILL and SIGTERM can be sent");
  }
  return service_.signal_process(visit.caller, visit.info.id, pid, number);
}

Result<void> ProcessService::update(const Visit& visit, const Json& message) {
  const std::uint32_t pid = GB_TRY(selected(visit, message));
  if (member(message, "pty") == nullptr) {
    return {};
  }
  const Json pty = GB_TRY(object_member(message, "pty"));
  const auto size = GB_TRY(terminal_size(pty));
  return service_.resize(visit.caller, visit.info.id, pid, size);
}

Result<void> ProcessService::close_stdin(const Visit& visit, const Json& message) {
  const std::uint32_t pid = GB_TRY(selected(visit, message));
  auto closed = service_.close_stdin(visit.caller, visit.info.id, pid);
  if (!closed && closed.error().code() == ErrorCode::kConflict) {
    return {};  // It is closed already.
  }
  return closed;
}

void ProcessService::stream_input(const Visit& visit,
                                  http::Request& request,
                                  http::Response& response) {
  EnvelopeReader reader(request);
  std::optional<std::uint32_t> pid;
  const auto done = [&]() -> Result<void> {
    while (const auto message = GB_TRY(reader.next())) {
      if (member(*message, "start") != nullptr) {
        const Json start = GB_TRY(object_member(*message, "start"));
        pid = GB_TRY(selected(visit, start));
      } else if (member(*message, "data") != nullptr) {
        if (!pid) {
          return Error(ErrorCode::kInvalid, "input sent before a process was specified");
        }
        const Json data = GB_TRY(object_member(*message, "data"));
        const Json input = GB_TRY(object_member(data, "input"));
        if (auto written = write(visit, *pid, input); !written) {
          return written;
        }
      }
    }
    return {};
  }();
  if (!done) {
    refuse_streaming(response, rpc_error(done.error()));
    return;
  }
  (void)response.send(200, {{"Content-Type", std::string(kStreamType)}},
                      envelope("{}") + end_envelope());
}

Result<ProcessRequest> ProcessService::process_request(const Visit& visit,
                                                       const User& user,
                                                       http::Request& request,
                                                       const Json& message) {
  ProcessRequest wanted;
  const Json config = GB_TRY(object_member(message, "process"));
  wanted.command.argv.push_back(GB_TRY(text_member(config, "cmd")).value_or(""));
  if (wanted.command.argv.front().empty()) {
    return Error(ErrorCode::kInvalid, "the command is missing");
  }
  for (std::string& argument : GB_TRY(texts_member(config, "args"))) {
    wanted.command.argv.push_back(std::move(argument));
  }
  for (auto& [name, value] : GB_TRY(text_map_member(config, "envs"))) {
    wanted.command.env.emplace_back(name, value);
  }
  if (wanted.command.argv.size() > kMaxArguments || wanted.command.env.size() > kMaxArguments) {
    return Error(ErrorCode::kInvalid, "too many arguments");
  }
  wanted.user = user.name;
  const std::string cwd = GB_TRY(text_member(config, "cwd")).value_or("");
  // Without a cwd, another user's process runs in that user's home, and any other in the sandbox's,
  // whatever the template calls that.
  if (!cwd.empty() || user.home != kHome) {
    wanted.command.cwd = GB_TRY(resolve_path(cwd, user.home));
    FileClient files = GB_TRY(service_.files(visit.caller, visit.info.id, FileAccess::kUse));
    const auto entry = files.stat(wanted.command.cwd);
    const bool directory = entry && (entry->type == FileEntry::Type::kDirectory ||
                                     entry->target_type == FileEntry::Type::kDirectory);
    if (!directory) {
      return Error(ErrorCode::kInvalid, "cwd '" + wanted.command.cwd + "' does not exist");
    }
  }
  if (member(message, "pty") != nullptr) {
    const Json pty = GB_TRY(object_member(message, "pty"));
    wanted.terminal = GB_TRY(terminal_size(pty));
  }
  wanted.tag = GB_TRY(text_member(message, "tag")).value_or("");
  wanted.keep_stdin = GB_TRY(flag_member(message, "stdin")).value_or(true);
  if (const auto timeout = GB_TRY(call_timeout(request))) {
    wanted.timeout = std::max(*timeout, milliseconds(1));
  }
  return wanted;
}

void ProcessService::start(const Visit& visit,
                           const User& user,
                           http::Request& request,
                           http::Response& response) {
  const auto wanted = [&]() -> Result<ProcessRequest> {
    const Json message = GB_TRY(read_streaming(request));
    return process_request(visit, user, request, message);
  }();
  if (!wanted) {
    refuse_streaming(response, rpc_error(wanted.error()));
    return;
  }
  answer_with_process(service_, visit, request, response, wanted->timeout > milliseconds(0),
                      service_.start_process(visit.caller, visit.info.id, *wanted));
}

void ProcessService::connect(const Visit& visit, http::Request& request, http::Response& response) {
  const auto pid = [&]() -> Result<std::uint32_t> {
    const Json message = GB_TRY(read_streaming(request));
    return selected(visit, message);
  }();
  if (!pid) {
    refuse_streaming(response, rpc_error(pid.error()));
    return;
  }
  answer_with_process(service_, visit, request, response, /*until_deadline=*/false,
                      service_.attach_process(visit.caller, visit.info.id, *pid));
}

}  // namespace glovebox::e2b
