// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/sandbox_tunnel.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/daemon/remote_events.h"
#include "cli/interrupts.h"
#include "cli/output_writer.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kPiece = 32UL * 1024;
constexpr int kLastWordsMs = 5'000;
constexpr std::size_t kMostErrors = 8UL * 1024;

// Passes on what the process says, from a thread of its own. done_fd() is readable at the end.
class Listener {
 public:
  explicit Listener(http::WebSocket& socket)
      : socket_(socket), done_(::eventfd(0, EFD_CLOEXEC)), thread_([this] { listen(); }) {}
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  [[nodiscard]] int done_fd() const { return done_.get(); }

  // Once the socket has been closed.
  Result<int> result() {
    thread_.join();
    return std::exchange(result_, Result<int>(0));
  }

 private:
  void listen() {
    result_ = follow();
    (void)::eventfd_write(done_.get(), 1);
  }

  Result<int> follow() {
    for (;;) {
      const auto message = GB_TRY(socket_.read());
      if (!message) {
        return Error(ErrorCode::kUnavailable, "lost the connection to the process");
      }
      const Json said = GB_TRY(parse_answer(message->payload));
      const std::string type = text_in(said, "type");
      if (type == "stdout") {
        write_fully(STDOUT_FILENO, bytes_in(said));
      } else if (type == "stderr") {
        complain(bytes_in(said));
      } else if (type == "ended") {
        return static_cast<int>(number_in(said, "exit_code") & 0xff);
      } else if (type == "failed") {
        return error_in(said);
      }
    }
  }

  void complain(std::string_view bytes) {
    errors_ += bytes.substr(0, kMostErrors - std::min(kMostErrors, errors_.size()));
    for (std::size_t end = errors_.find('\n'); end != std::string::npos; end = errors_.find('\n')) {
      const bool carriage = end > 0 && errors_[end - 1] == '\r';
      const std::string line = errors_.substr(0, carriage ? end - 1 : end);
      write_fully(STDERR_FILENO, "glovebox: " + printable(line) + "\n");
      errors_.erase(0, end + 1);
    }
  }

  http::WebSocket& socket_;
  UniqueFd done_;
  std::string errors_;
  Result<int> result_ = 0;
  std::thread thread_;
};

// Returns once our input ends, a signal wants us to end, or the process has ended.
void pass_input(http::WebSocket& socket, const Listener& listener, const Interrupts& interrupts) {
  std::array<char, kPiece> piece{};
  for (;;) {
    std::array<pollfd, 3> watched{
        {{listener.done_fd(), POLLIN, 0}, {interrupts.fd(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
      continue;
    }
    if (watched[0].revents != 0 || watched[1].revents != 0) {
      return;
    }
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    if (got <= 0 || !socket.write(true, {piece.data(), static_cast<std::size_t>(got)})) {
      return;
    }
  }
}

}  // namespace

Result<int> run_tunnel(DaemonClient& daemon,
                       const std::string& sandbox,
                       Json request,
                       std::string_view first) {
  request["stdin"] = true;
  const Interrupts interrupts;
  const Json started = GB_TRY(daemon.ask("POST", sandbox + "/processes", request));
  const std::string process = sandbox + "/processes/" + std::to_string(number_in(started, "pid"));
  const auto opened = daemon.open_websocket(process);
  if (!opened) {
    (void)daemon.ask("DELETE", process);
    return opened.error();
  }
  http::WebSocket* const socket = opened->get();
  Listener listener(*socket);
  if (socket->write(true, first)) {
    pass_input(*socket, listener, interrupts);
  }
  (void)socket->write(false, R"({"end_stdin": true})");
  pollfd done{listener.done_fd(), POLLIN, 0};
  const bool late = ::poll(&done, 1, kLastWordsMs) == 0;
  socket->close(1000, "");
  auto result = listener.result();
  if (late || !result) {
    (void)daemon.ask("DELETE", process);
  }
  return late ? Result<int>(128 + SIGKILL) : result;
}

}  // namespace glovebox::cli
