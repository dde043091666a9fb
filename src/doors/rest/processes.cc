// SPDX-License-Identifier: Apache-2.0
// Commands and terminals.
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <thread>

#include "doors/rest/event_stream.h"
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"
#include "spec/json/error_json.h"

namespace glovebox::rest {
namespace {

constexpr std::size_t kStdinPiece = 64 * 1024;
constexpr auto kTurnPatience = std::chrono::seconds(10);

Result<std::uint32_t> read_pid(const Call& call) {
  const std::string& text = call.parameters[1];
  std::uint32_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Error(ErrorCode::kNotFound, "no such process");
  }
  return pid;
}

// A text message: {"resize": {"columns", "rows"}}, {"signal": "SIGINT"} or {"end_stdin": true}.
Result<void> control(Call& call, std::uint32_t pid, std::string_view text) {
  const std::string& sandbox = call.parameters[0];
  Fields fields = GB_TRY(Fields::parse(std::string(text)));
  if (auto size = fields.object("resize")) {
    Fields inner(*std::move(size), "resize.");
    const auto terminal = GB_TRY(read_terminal(inner));
    GB_TRY(fields.done());
    return call.service.resize(call.caller, sandbox, pid, terminal);
  }
  if (fields.flag("end_stdin").value_or(false)) {
    GB_TRY(fields.done());
    return call.service.close_stdin(call.caller, sandbox, pid);
  }
  const int signal = GB_TRY(read_signal(fields));
  return call.service.signal_process(call.caller, sandbox, pid, signal);
}

// What a process says, as pieces of an answer.
class ProcessPieces final : public http::PieceSource {
 public:
  ProcessPieces(std::unique_ptr<ProcessFeed> feed, EventFormat format)
      : feed_(std::move(feed)), format_(format) {}

  [[nodiscard]] int fd() const override { return feed_->fd(); }

  State next(std::string& piece) override {
    const auto event = feed_->next();
    if (event && event->kind == ProcessEvent::Kind::kIdle) {
      return State::kGoesOn;
    }
    piece = framed(format_, event ? to_line(*event) : failed_event(event.error()));
    return event && event->kind != ProcessEvent::Kind::kEnded ? State::kGoesOn : State::kEnd;
  }

  [[nodiscard]] std::optional<Beat> beat() const override {
    return Beat{.every = kKeepalive, .piece = framed(format_, kKeepaliveEvent)};
  }

 private:
  const std::unique_ptr<ProcessFeed> feed_;
  const EventFormat format_;
};

// A process outlives its listener: nothing is stopped when the client goes.
Result<void> follow_by_events(Call& call, std::unique_ptr<ProcessFeed> feed, EventFormat format) {
  return call.follow(200, stream_headers(format),
                     std::make_unique<ProcessPieces>(std::move(feed), format));
}

// Each message is a request, and also a piece of a stream: one that comes before its turn waits for
// it, because nobody could send it again.
Result<void> renewed(Call& call) {
  const auto deadline = std::chrono::steady_clock::now() + kTurnPatience;
  for (;;) {
    auto done = call.service.renew(call.caller);
    if (done || done.error().code() != ErrorCode::kExhausted ||
        std::chrono::steady_clock::now() > deadline) {
      return done;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// What the process says goes out from a thread of its own, what the client says is read here.
Result<void> attach_by_socket(Call& call, std::uint32_t pid) {
  const std::string& sandbox = call.parameters[0];
  GB_TRY(call.request.count_for(call.caller.tenant, http::Pace::kLong));
  const auto feed = GB_TRY(call.service.attach_process(call.caller, sandbox, pid));
  auto socket = GB_TRY(call.response.upgrade(""));
  std::atomic<bool> gone{false};
  std::thread speaker([&] {
    const auto followed = follow(*feed, [&](const ProcessEvent& event) {
      if (event.kind == ProcessEvent::Kind::kIdle) {
        return !gone;
      }
      const bool bytes = event.kind == ProcessEvent::Kind::kTerminal;
      return !gone && socket->write(bytes, bytes ? event.bytes : to_line(event)).has_value();
    });
    if (!followed && followed.error().code() != ErrorCode::kRefused && !gone) {
      (void)socket->write(false, failed_event(followed.error()));
    }
    // What the process says is no longer passed on once the key is gone.
    if (call.service.admit(call.caller, kScopeRun)) {
      socket->close(1000, "");
    } else {
      socket->close(kPolicyViolation, "the key is no longer valid");
    }
  });
  while (true) {
    auto message = socket->read();
    if (!message || !*message) {
      break;
    }
    const std::string& payload = (*message)->payload;
    auto done = renewed(call);
    if (!done && done.error().code() == ErrorCode::kRefused) {
      socket->close(kPolicyViolation, "the key is no longer valid");
      break;
    }
    if (done) {
      done = (*message)->binary ? call.service.write_process(call.caller, sandbox, pid, payload)
                                : control(call, pid, payload);
    }
    if (!done) {
      (void)socket->write(false, failed_event(done.error()));
    }
  }
  gone = true;
  speaker.join();
  return {};
}

}  // namespace

Result<void> start_process(Call& call) {
  Fields fields = GB_TRY(call.fields());
  ProcessRequest request = GB_TRY(read_process_request(fields));
  const EventFormat format = wanted_format(call);
  if (format != EventFormat::kVerdict) {
    return follow_by_events(
        call, GB_TRY(call.service.start_process(call.caller, call.parameters[0], request)), format);
  }
  request.start_only = true;
  const auto feed = GB_TRY(call.service.start_process(call.caller, call.parameters[0], request));
  const ProcessEvent started = GB_TRY(feed->next());
  call.send_json(201, "process", {{"pid", started.pid}});
  return {};
}

Result<void> list_processes(Call& call) {
  Json processes = Json::array();
  for (const ProcessInfo& info : GB_TRY(call.service.processes(call.caller, call.parameters[0]))) {
    if (info.alive) {
      processes.push_back(to_json(info));
    }
  }
  call.send_json(200, "processes", {{"processes", std::move(processes)}});
  return {};
}

Result<void> attach_process(Call& call) {
  const std::uint32_t pid = GB_TRY(read_pid(call));
  const auto processes = GB_TRY(call.service.processes(call.caller, call.parameters[0]));
  const auto found = std::find_if(processes.begin(), processes.end(),
                                  [&](const ProcessInfo& info) { return info.pid == pid; });
  if (found == processes.end()) {
    return Error(ErrorCode::kNotFound, "no such process");
  }
  if (call.request.header("upgrade")) {
    return attach_by_socket(call, pid);
  }
  const EventFormat format = wanted_format(call);
  if (format == EventFormat::kVerdict) {
    call.send_json(200, "process", to_json(*found));
    return {};
  }
  return follow_by_events(
      call, GB_TRY(call.service.attach_process(call.caller, call.parameters[0], pid)), format);
}

Result<void> kill_process(Call& call) {
  const std::uint32_t pid = GB_TRY(read_pid(call));
  GB_TRY(call.service.signal_process(call.caller, call.parameters[0], pid, SIGKILL));
  call.send_nothing();
  return {};
}

Result<void> write_stdin(Call& call) {
  const std::uint32_t pid = GB_TRY(read_pid(call));
  // Nothing at first, so that an unknown pid is a 404 even with an empty body.
  GB_TRY(call.service.write_process(call.caller, call.parameters[0], pid, {}));
  std::string piece(kStdinPiece, '\0');
  while (true) {
    const std::size_t count = GB_TRY(call.request.read(piece));
    if (count == 0) {
      break;
    }
    GB_TRY(call.service.write_process(call.caller, call.parameters[0], pid,
                                      std::string_view(piece).substr(0, count)));
  }
  call.send_nothing();
  return {};
}

Result<void> close_stdin(Call& call) {
  const std::uint32_t pid = GB_TRY(read_pid(call));
  GB_TRY(call.service.close_stdin(call.caller, call.parameters[0], pid));
  call.send_nothing();
  return {};
}

Result<void> signal_process(Call& call) {
  const std::uint32_t pid = GB_TRY(read_pid(call));
  Fields fields = GB_TRY(call.fields());
  const int signal = GB_TRY(read_signal(fields));
  GB_TRY(call.service.signal_process(call.caller, call.parameters[0], pid, signal));
  call.send_nothing();
  return {};
}

Result<void> resize_process(Call& call) {
  const std::uint32_t pid = GB_TRY(read_pid(call));
  Fields fields = GB_TRY(call.fields());
  const auto size = GB_TRY(read_terminal(fields));
  GB_TRY(call.service.resize(call.caller, call.parameters[0], pid, size));
  call.send_nothing();
  return {};
}

}  // namespace glovebox::rest
