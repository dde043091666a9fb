// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/sandbox_process.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <thread>
#include <utility>

#include "base/base64.h"
#include "base/duration.h"
#include "base/text.h"
#include "cli/daemon/remote_events.h"
#include "cli/interrupts.h"
#include "cli/output_writer.h"
#include "spec/json/schema.h"

namespace glovebox::cli {
namespace {

// A pipe takes this much whole or not at all (PIPE_BUF), so that a refused piece can be sent
// again.
constexpr std::size_t kInputPiece = 4'096;
constexpr std::size_t kMostCollected = 64UL << 20;

// Passes on our standard input, in its own thread and on its own connection: a process that does
// not read must not keep us from showing what it writes.
class InputPasser {
 public:
  InputPasser(DaemonClient daemon, std::string process)
      : daemon_(std::move(daemon)),
        process_(std::move(process)),
        stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this] { pass(); }) {}
  InputPasser(const InputPasser&) = delete;
  InputPasser& operator=(const InputPasser&) = delete;
  ~InputPasser() {
    (void)::eventfd_write(stop_.get(), 1);
    thread_.join();
  }

 private:
  [[nodiscard]] bool stopped(int patience_ms, bool for_input) const {
    std::array<pollfd, 2> watched{
        {{stop_.get(), POLLIN, 0}, {for_input ? STDIN_FILENO : -1, POLLIN, 0}}};
    (void)::poll(watched.data(), watched.size(), patience_ms);
    return watched[0].revents != 0;
  }

  // False if the process takes no more.
  bool send(std::string_view piece) {
    for (;;) {
      const auto sent = daemon_.send_bytes("POST", process_ + "/stdin", piece);
      if (sent) {
        return true;
      }
      if (sent.error().code() != ErrorCode::kExhausted || stopped(100, false)) {
        return false;
      }
    }
  }

  void pass() {
    std::array<char, kInputPiece> piece{};
    while (!stopped(-1, true)) {
      const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        continue;
      }
      if (got <= 0) {
        (void)daemon_.ask("DELETE", process_ + "/stdin");
        return;
      }
      if (!send({piece.data(), static_cast<std::size_t>(got)})) {
        return;
      }
    }
  }

  DaemonClient daemon_;
  const std::string process_;
  UniqueFd stop_;
  std::thread thread_;
};

// What the process says, to our own streams or into one object.
class Output {
 public:
  explicit Output(const ProcessOrder& order) : order_(order) {}

  void take(const std::string& line, const Json& said, const std::string& type) {
    if (order_.events) {
      write_fully(STDOUT_FILENO, line + "\n");
    }
    const bool collects = order_.into != nullptr || (order_.json && !order_.events);
    if (type == "stdout" || type == "stderr") {
      const std::string bytes = bytes_in(said);
      if (!collects) {
        if (!order_.events) {
          write_fully(type == "stdout" ? STDOUT_FILENO : STDERR_FILENO, bytes);
        }
        return;
      }
      Collected& kept = type == "stdout" ? out_ : err_;
      kept.total += bytes.size();
      kept.text.append(bytes, 0, kMostCollected - std::min(kMostCollected, kept.text.size()));
    } else if (type == "ended" && collects) {
      // What POST …/commands returns.
      Json whole{{"schema", schema_of("command")}};
      whole.update(said);
      whole.erase("type");
      for (const auto& [name, kept] : {std::pair("stdout", &out_), std::pair("stderr", &err_)}) {
        whole[name] = to_utf8(kept->text);
        if (!is_utf8(kept->text)) {
          whole[std::string(name) + "_base64"] = to_base64(kept->text);
        }
        whole["truncated"][name] = kept->total > kept->text.size();
        whole["bytes"][name] = kept->total;
      }
      if (order_.into != nullptr) {
        *order_.into = std::move(whole);
      } else {
        write_fully(STDOUT_FILENO, whole.dump() + "\n");
      }
    }
  }

 private:
  struct Collected {
    std::string text;
    std::uint64_t total = 0;
  };

  const ProcessOrder& order_;
  Collected out_;
  Collected err_;
};

}  // namespace

Result<Json> process_request(const ProcessOrder& order) {
  for (const std::string& word : order.argv) {
    if (!is_utf8(word)) {
      return Error(ErrorCode::kInvalid, "argument is not valid UTF-8: '" + printable(word) + "'");
    }
  }
  Json request{{"argv", order.argv}, {"env", order.env}};
  if (!order.cwd.empty()) {
    request["cwd"] = to_utf8(order.cwd);
  }
  if (!order.user.empty()) {
    request["user"] = to_utf8(order.user);
  }
  if (!order.timeout.empty()) {
    const auto timeout = parse_duration(order.timeout);
    if (!timeout) {
      return Error(timeout.error()).within("--time");
    }
    request["timeout"] = static_cast<double>(timeout->count()) / 1000;
  }
  return request;
}

Result<int> run_process(const DaemonOptionsText& options,
                        const std::string& sandbox,
                        const ProcessOrder& order) {
  Json request = GB_TRY(process_request(order));
  request["stdin"] = true;
  DaemonClient daemon = GB_TRY(DaemonClient::make(options));
  DaemonClient for_input = GB_TRY(DaemonClient::make(options));
  Interrupts interrupts;
  EventLines lines(
      GB_TRY(daemon.stream("POST", sandbox + "/processes", request, "application/x-ndjson")));
  std::string process;
  std::optional<InputPasser> input;
  Output output(order);
  int interrupted = 0;
  for (;;) {
    const auto ready = lines.await(interrupts.fd());
    if (ready == http::ClientAnswer::Ready::kNothing) {
      continue;
    }
    if (ready == http::ClientAnswer::Ready::kOther) {
      const int signal = interrupts.take();
      if (++interrupted > 2 || process.empty()) {
        return 128 + signal;
      }
      const char* const name = interrupted > 1     ? "SIGKILL"
                               : signal == SIGTERM ? "SIGTERM"
                               : signal == SIGHUP  ? "SIGHUP"
                                                   : "SIGINT";
      (void)daemon.ask("POST", process + "/signal", {{"signal", name}});
      continue;
    }
    const auto line = GB_TRY(lines.next_line());
    if (!line) {
      return Error(ErrorCode::kUnavailable, "the process is gone: its sandbox has ended");
    }
    const Json said = GB_TRY(parse_answer(*line));
    const std::string type = text_in(said, "type");
    output.take(*line, said, type);
    if (type == "started" && process.empty()) {
      process = sandbox + "/processes/" + std::to_string(number_in(said, "pid"));
      // NOLINTNEXTLINE(bugprone-use-after-move): once, as it has a name then.
      input.emplace(std::move(for_input), process);
    } else if (type == "failed") {
      return error_in(said);
    } else if (type == "ended") {
      return static_cast<int>(number_in(said, "exit_code") & 0xff);
    }
  }
}

}  // namespace glovebox::cli
