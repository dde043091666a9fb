// SPDX-License-Identifier: Apache-2.0
// A terminal of a sandbox, shown in ours.
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/daemon/remote_events.h"
#include "cli/daemon/sandbox_process.h"
#include "cli/output_writer.h"

namespace glovebox::cli {
namespace {

// Global for the signal handler, which takes no arguments of ours.
termios g_before{};
constexpr std::array<int, 3> kCrashes = {SIGABRT, SIGSEGV, SIGBUS};

extern "C" void restore_and_die(int number) {
  (void)::tcsetattr(STDIN_FILENO, TCSANOW, &g_before);
  (void)::raise(number);  // Once the handler has returned: it was reset.
}

// Our terminal in raw mode: it interprets no keys itself. At most one at a time.
class RawTerminal {
 public:
  RawTerminal() {
    (void)::tcgetattr(STDIN_FILENO, &g_before);
    struct sigaction crash {};
    crash.sa_handler = restore_and_die;
    crash.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int number : kCrashes) {
      (void)::sigaction(number, &crash, nullptr);
    }
    termios raw = g_before;
    ::cfmakeraw(&raw);
    (void)::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  // Input typed but not read stays for the shell that we return to.
  ~RawTerminal() {
    (void)::tcsetattr(STDIN_FILENO, TCSADRAIN, &g_before);
    for (const int number : kCrashes) {
      (void)::signal(number, SIG_DFL);
    }
  }
};

Json size_json() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {{"columns", known ? size.ws_col : 80},
          {"rows", known && size.ws_row > 0 ? size.ws_row : 24}};
}

UniqueFd catch_signals() {
  sigset_t set;
  (void)::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) {
    (void)::sigaddset(&set, number);
  }
  (void)::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Shows what comes, from a thread of its own. done_fd() is readable at the end.
class Shower {
 public:
  explicit Shower(http::WebSocket& socket)
      : socket_(socket), done_(::eventfd(0, EFD_CLOEXEC)), thread_([this] { show(); }) {}
  Shower(const Shower&) = delete;
  Shower& operator=(const Shower&) = delete;
  ~Shower() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  [[nodiscard]] int done_fd() const { return done_.get(); }

  // After its end: the exit status, or why there is none.
  Result<int> result() {
    thread_.join();
    if (error_) {
      return *error_;
    }
    if (!status_) {
      return Error(ErrorCode::kUnavailable, "lost the connection to the terminal");
    }
    return *status_;
  }

 private:
  void show() {
    for (;;) {
      const auto message = socket_.read();
      if (!message || !*message) {
        break;
      }
      if ((*message)->binary) {
        write_fully(STDOUT_FILENO, (*message)->payload);
        continue;
      }
      const auto said = parse_answer((*message)->payload);
      if (said && text_in(*said, "type") == "ended") {
        status_ = static_cast<int>(number_in(*said, "exit_code") & 0xff);
        break;
      }
      // Input that could not be delivered is not an end; that the process is gone is one.
      if (said && number_in(*said, "code") == 404) {
        error_ = error_in(*said);
        break;
      }
    }
    (void)::eventfd_write(done_.get(), 1);
  }

  http::WebSocket& socket_;
  UniqueFd done_;
  std::optional<int> status_;
  std::optional<Error> error_;
  std::thread thread_;
};

// Passes keys and sizes on until the process ends. Returns a signal that would end us.
std::optional<int> pass_keys(http::WebSocket& socket, const Shower& shower, int signals) {
  std::array<char, 4'096> keys{};
  bool open = true;
  for (;;) {
    std::array<pollfd, 3> watched{{{shower.done_fd(), POLLIN, 0},
                                   {signals, POLLIN, 0},
                                   {open ? STDIN_FILENO : -1, POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) {
      return std::nullopt;
    }
    if (watched[0].revents != 0) {
      return std::nullopt;
    }
    signalfd_siginfo info{};
    while (::read(signals, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGWINCH) {
        return static_cast<int>(info.ssi_signo);
      }
      (void)socket.write(false, Json{{"resize", size_json()}}.dump());
    }
    if (watched[2].revents != 0) {
      const ssize_t got = ::read(STDIN_FILENO, keys.data(), keys.size());
      if (got > 0) {
        (void)socket.write(true, {keys.data(), static_cast<std::size_t>(got)});
      } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        open = false;
        (void)socket.write(false, R"({"end_stdin": true})");
      }
    }
  }
}

}  // namespace

Result<int> run_in_terminal(const DaemonOptionsText& options,
                            const std::string& sandbox,
                            const ProcessOrder& order) {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) {
    return Error(ErrorCode::kInvalid, "-t requires a terminal on standard input and output",
                 "leave out -t to pass standard input and output through unchanged");
  }
  if (order.json || order.events) {
    return Error(ErrorCode::kInvalid, "-t cannot be combined with --json or --events",
                 "leave out -t");
  }
  Json request = GB_TRY(process_request(order));
  request["terminal"] = size_json();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const kind = std::getenv("TERM");
  if (!request["env"].contains("TERM")) {
    request["env"]["TERM"] = to_utf8(kind != nullptr ? kind : "xterm-256color");
  }
  DaemonClient daemon = GB_TRY(DaemonClient::make(options));
  const UniqueFd signals = catch_signals();
  const Json started = GB_TRY(daemon.ask("POST", sandbox + "/processes", request));
  const std::string process = sandbox + "/processes/" + std::to_string(number_in(started, "pid"));
  const auto socket = GB_TRY(daemon.open_websocket(process));
  std::optional<int> signal;
  Result<int> result = 0;
  {
    const RawTerminal raw;
    Shower shower(*socket);
    signal = pass_keys(*socket, shower, signals.get());
    socket->close(1000, "");
    result = shower.result();
  }
  if (signal) {
    // As a closed terminal signals its programs.
    (void)daemon.ask("POST", process + "/signal", {{"signal", "SIGHUP"}});
    return 128 + *signal;
  }
  return result;
}

}  // namespace glovebox::cli
