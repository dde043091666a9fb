// SPDX-License-Identifier: Apache-2.0
// Tools that run a program in the sandbox.
#include <poll.h>

#include <csignal>
#include <functional>
#include <memory>
#include <utility>

#include "base/text.h"
#include "doors/mcp/dry_run.h"
#include "doors/mcp/tools.h"
#include "sandbox/output.h"

namespace glovebox::mcp {
namespace {

constexpr Bytes kMostOutput{1UL << 20};
constexpr int kLookEvery = 200;  // Milliseconds.
// Of search_files.
constexpr std::size_t kMostMatches = 200;
constexpr std::size_t kMostLine = 400;
constexpr std::chrono::seconds kSearchTime{60};

std::string plain(const Captured& captured) {
  return AnsiStripper().strip(to_utf8(captured.bytes));
}

// "PATH\0LINE:TEXT"; nothing for what grep did not write.
std::optional<Json> match_of(std::string_view line) {
  const std::size_t zero = line.find('\0');
  const std::size_t colon = zero == std::string_view::npos ? zero : line.find(':', zero);
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  for (const char digit : line.substr(zero + 1, colon - zero - 1)) {
    if (digit < '0' || digit > '9' || number > 1'000'000'000) {
      return std::nullopt;
    }
    number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  std::string_view path = line.substr(0, zero);
  if (path.starts_with("./")) {
    path.remove_prefix(2);
  }
  return Json{{"path", to_utf8(path)},
              {"line", number},
              {"text", to_utf8(line.substr(colon + 1, kMostLine))}};
}

// Follows a process to its end; `wanted` says no when it should be killed.
Result<ProcessEvent> follow(SandboxService& service,
                            const Caller& caller,
                            const std::string& sandbox,
                            ProcessFeed& feed,
                            const std::function<bool()>& wanted,
                            const std::function<bool(std::string_view)>& out,
                            OutputCapture& err) {
  std::uint32_t pid = 0;
  bool killed = false;
  for (;;) {
    ProcessEvent event = GB_TRY(feed.next());
    bool goes_on = true;
    switch (event.kind) {
      case ProcessEvent::Kind::kStarted:
        pid = event.pid;
        break;
      case ProcessEvent::Kind::kStdout:
        goes_on = killed || out(event.bytes);
        break;
      case ProcessEvent::Kind::kStderr:
        err.write(event.bytes);
        break;
      case ProcessEvent::Kind::kEnded:
        return event;
      default: {
        pollfd waits{feed.fd(), POLLIN, 0};
        (void)::poll(&waits, 1, kLookEvery);
        break;
      }
    }
    if (!killed && pid != 0 && !(goes_on && wanted())) {
      (void)service.signal_process(caller, sandbox, pid, SIGKILL);
      killed = true;
    }
  }
}

// Runs a process to its end, and reports it like an execution: what it prints, and a verdict.
Result<void> run_as_execution(SandboxService& service,
                              const Caller& caller,
                              const std::string& sandbox,
                              ProcessRequest request,
                              const EventSink& sink) {
  request.told = sink;
  const auto feed = GB_TRY(service.start_process(caller, sandbox, request));
  OutputCapture out(kMostOutput);
  OutputCapture err(kMostOutput);
  const ProcessEvent end = GB_TRY(follow(
      service, caller, sandbox, *feed, [&sink] { return sink({}); },
      [&](std::string_view bytes) {
        out.write(bytes);
        return sink(Json{{"type", "stdout"}, {"text", to_utf8(bytes)}}.dump());
      },
      err));
  const bool failed = end.reason != Status::kOk || end.exit_code != 0;
  Json verdict{{"type", "verdict"},
               {"status", failed && end.reason == Status::kOk ? "error" : to_string(end.reason)},
               {"exit_code", end.exit_code},
               {"stdout", plain(out.finish())},
               {"stderr", plain(err.finish())}};
  if (!end.dry_run.empty()) {
    verdict["dry_run"] = Json::parse(end.dry_run, nullptr, false);
  }
  (void)sink(to_text(verdict));
  return {};
}

Result<ToolResult> command_result_of(ToolCall& call, const AskedVerdict& asked) {
  ToolResult result;
  if (!asked.question.is_null()) {
    result.ask(asked.question);
    return result;
  }
  const std::string status = text_of(asked.verdict, "status");
  const int exit_code = asked.verdict.value("exit_code", 0);
  result.data()["status"] = status;
  result.data()["exit_code"] = exit_code;
  put_text(call, result, "stdout", "", text_of(asked.verdict, "stdout"));
  put_text(call, result, "stderr", "[stderr]\n", text_of(asked.verdict, "stderr"));
  put_dry_run(call, result, asked.verdict);
  if (status != to_string(Status::kOk)) {
    result.fail();
    result.add_text("exit status " + std::to_string(exit_code) +
                    (status == to_string(Status::kTimeout) ? ": the time limit ended it" : ""));
  } else if (result.data().size() == 2) {
    result.add_text("(no output)");
  }
  call.tell_sandbox(result, asked.place.sandbox);
  return result;
}

}  // namespace

Result<ProcessEvent> follow_to_end(ToolCall& call,
                                   const std::string& sandbox,
                                   ProcessFeed& feed,
                                   const std::function<bool(std::string_view)>& out,
                                   OutputCapture& err) {
  return follow(
      call.service, call.call.caller(), sandbox, feed,
      [&call] { return !call.call.cancellation().canceled(); }, out, err);
}

Result<ToolResult> run_command(ToolCall& call) {
  const std::string command = call.arguments.required_text("command");
  ProcessRequest request;
  request.command.argv = {"/bin/sh", "-c", command};
  request.command.cwd = call.arguments.text("cwd");
  request.timeout =
      call.arguments.seconds("timeout", call.options.most_time).value_or(call.options.time);
  request.dry_run.wanted = call.arguments.flag("dry_run");
  if (is_answer(call.call)) {
    return resume_process(call);
  }
  const std::string sandbox = GB_TRY(call.sandbox());
  if (command.empty() || command.find('\0') != std::string::npos) {
    return Error(ErrorCode::kInvalid, "argument 'command' must be text without NUL characters");
  }
  return run_process(call, sandbox, request);
}

Result<ToolResult> run_process(ToolCall& call,
                               const std::string& sandbox,
                               const ProcessRequest& request) {
  // The work may outlive this request of the client.
  const auto work = [&service = call.service, caller = call.call.caller(), sandbox,
                     request](const EventSink& sink) {
    return run_as_execution(service, caller, sandbox, request, sink);
  };
  return command_result_of(call, GB_TRY(perform(call, {.sandbox = sandbox, .context = {}}, work)));
}

Result<ToolResult> resume_process(ToolCall& call) {
  return command_result_of(call, GB_TRY(resume(call)));
}

// By grep, inside: a hostile pattern or file costs the sandbox, not us.
Result<ToolResult> search_files(ToolCall& call) {
  const std::string pattern = call.arguments.required_text("pattern");
  const std::string path = call.arguments.text("path");
  const std::string glob = call.arguments.text("glob");
  const std::string sandbox = GB_TRY(call.sandbox());
  for (const std::string* const each : {&pattern, &path, &glob}) {
    if (each->find('\0') != std::string::npos) {
      return Error(ErrorCode::kInvalid, "an argument has a NUL character");
    }
  }
  ProcessRequest request;
  request.command.argv = {"grep", "-rnIEZ", "--color=never"};
  if (!glob.empty()) {
    request.command.argv.push_back("--include=" + glob);
  }
  for (const std::string& word :
       {std::string("-e"), pattern, std::string("--"), path.empty() ? std::string(".") : path}) {
    request.command.argv.push_back(word);
  }
  request.timeout = kSearchTime;
  const auto feed = GB_TRY(call.service.start_process(call.call.caller(), sandbox, request));
  ToolResult result;
  Json matches = Json::array();
  std::string text;
  std::string held;
  bool truncated = false;
  OutputCapture err(Bytes{4'096});
  const auto add = [&](std::string_view line) {
    if (const auto match = match_of(line)) {
      text += (*match)["path"].get<std::string>() + ":" + (*match)["line"].dump() + ": " +
              (*match)["text"].get<std::string>() + "\n";
      matches.push_back(*match);
    }
  };
  const ProcessEvent end = GB_TRY(follow_to_end(
      call, sandbox, *feed,
      [&](std::string_view bytes) {
        held += bytes;
        std::size_t from = 0;
        for (std::size_t at = held.find('\n'); at != std::string::npos;
             at = held.find('\n', from)) {
          if (matches.size() >= kMostMatches) {
            truncated = true;
            return false;
          }
          add(std::string_view(held).substr(from, at - from));
          from = at + 1;
        }
        held.erase(0, from);
        // The rest of a line that is longer than anybody wants to read.
        held.resize(std::min(held.size(), std::size_t{64} * 1024));
        return true;
      },
      err));
  if (!truncated && end.exit_code > 1 && matches.empty()) {
    return Error(ErrorCode::kInvalid, "the search failed: " + printable(err.finish().bytes));
  }
  truncated = truncated || end.reason == Status::kTimeout;
  result.add_text(matches.empty() ? "no matches"
                                  : text + (truncated ? "(more matches exist)" : ""));
  result.data()["matches"] = std::move(matches);
  result.data()["truncated"] = truncated;
  call.tell_sandbox(result, sandbox);
  return result;
}

}  // namespace glovebox::mcp
