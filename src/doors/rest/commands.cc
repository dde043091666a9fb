// SPDX-License-Identifier: Apache-2.0
// A command that its caller waits for.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>
#include <thread>

#include "base/base64.h"
#include "base/text.h"
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"
#include "sandbox/output.h"

namespace glovebox::rest {
namespace {

// A pipe takes this much whole or not at all (PIPE_BUF, pipe(7)), so a piece that was refused can
// be sent again.
constexpr std::size_t kWholePiece = 4'096;

// Gives a process its input, in a thread of its own: it may print before it reads.
class InputWriter {
 public:
  InputWriter(Call& call, std::uint32_t pid, const std::string& input)
      : thread_([&call, pid, &input, this] { write(call, pid, input); }) {}
  InputWriter(const InputWriter&) = delete;
  InputWriter& operator=(const InputWriter&) = delete;
  ~InputWriter() { over_ = true; }

 private:
  // What a process does not want to read is not a failure of the command.
  void write(Call& call, std::uint32_t pid, std::string_view input) const {
    const std::string& sandbox = call.parameters[0];
    while (!input.empty() && !over_) {
      const std::string_view piece = input.substr(0, kWholePiece);
      const auto written = call.service.write_process(call.caller, sandbox, pid, piece);
      if (written) {
        input.remove_prefix(piece.size());
      } else if (written.error().code() != ErrorCode::kExhausted) {
        return;
      }
    }
    (void)call.service.close_stdin(call.caller, sandbox, pid);
  }

  std::atomic<bool> over_{false};
  std::jthread thread_;
};

void put(Json& answer, const std::string& name, const Captured& captured) {
  answer[name] = to_utf8(captured.bytes);
  if (answer[name] != captured.bytes) {
    answer[name + "_base64"] = to_base64(captured.bytes);
  }
  answer["truncated"][name] = captured.truncated;
  answer["bytes"][name] = captured.total;
}

}  // namespace

Result<void> run_command(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const CommandRequest wanted = GB_TRY(read_command_request(fields));
  const auto feed =
      GB_TRY(call.service.start_process(call.caller, call.parameters[0], wanted.process));
  OutputCapture out(wanted.output);
  OutputCapture err(wanted.output);
  ProcessEvent end;
  std::uint32_t pid = 0;
  bool left = false;
  std::optional<InputWriter> input;
  GB_TRY(follow(*feed, [&](const ProcessEvent& event) {
    switch (event.kind) {
      case ProcessEvent::Kind::kStarted:
        pid = event.pid;
        if (wanted.process.keep_stdin) {
          input.emplace(call, pid, wanted.input);
        }
        break;
      case ProcessEvent::Kind::kStdout:
        out.write(event.bytes);
        break;
      case ProcessEvent::Kind::kStderr:
        err.write(event.bytes);
        break;
      case ProcessEvent::Kind::kEnded:
        end = event;
        break;
      default:
        break;
    }
    left = left || (event.kind != ProcessEvent::Kind::kEnded && call.has_left());
    return !left;
  }));
  if (left) {
    // Nobody waits for it any more.
    (void)call.service.signal_process(call.caller, call.parameters[0], pid, SIGKILL);
    call.response.abort();
    return {};
  }
  Json answer{{"pid", pid},
              {"exit_code", end.exit_code},
              {"signal", end.signal ? Json(*end.signal) : Json(nullptr)},
              {"reason", to_string(end.reason)}};
  put(answer, "stdout", out.finish());
  put(answer, "stderr", err.finish());
  if (!end.dry_run.empty()) {
    answer["dry_run"] = Json::parse(end.dry_run, nullptr, false);
  }
  call.send_json(200, "command", answer);
  return {};
}

}  // namespace glovebox::rest
