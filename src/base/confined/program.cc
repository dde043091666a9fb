// SPDX-License-Identifier: Apache-2.0
#include "base/confined/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include "base/confined/process.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace glovebox::confined {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostComplaint = 4'000;
constexpr std::chrono::milliseconds kLookEvery{100};

// Bytes that a process has written so far (proc(5), io); nothing if we may not know.
std::optional<std::uint64_t> written_by(pid_t pid) {
  const UniqueFd file(
      ::open(("/proc/" + std::to_string(pid) + "/io").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> bytes{};
  const ssize_t got = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  const std::string_view text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  constexpr std::string_view kName = "wchar: ";
  const std::size_t at = text.find(kName);
  std::uint64_t count = 0;
  if (at == std::string_view::npos ||
      std::from_chars(text.data() + at + kName.size(), text.data() + text.size(), count).ec !=
          std::errc()) {
    return std::nullopt;
  }
  return count;
}

class Conversation {
 public:
  Conversation(
      const Job& job, Process& process, UniqueFd input, UniqueFd output, UniqueFd complaint)
      : job_(job),
        process_(process),
        input_(std::move(input)),
        output_(std::move(output)),
        complaint_(std::move(complaint)),
        unsent_(job.text),
        deadline_(Clock::now() + job.time),
        next_look_(job.wanted ? Clock::now() : Clock::now() + kLookEvery) {}

  // Runs until the program has ended and all that it said is read, and returns its wait status; or
  // until it has `finished`, and returns nothing.
  Result<std::optional<int>> hold() {
    bool ended = false;
    while (!ended || output_ || complaint_) {
      GB_TRY(check(ended));
      std::array<pollfd, 4> wait = {
          pollfd{input_.get(), POLLOUT, 0}, pollfd{output_.get(), POLLIN, 0},
          pollfd{complaint_.get(), POLLIN, 0}, pollfd{ended ? -1 : process_.pidfd(), POLLIN, 0}};
      if (::poll(wait.data(), wait.size(), kLookEvery.count()) < 0 && errno != EINTR) {
        return Error::from_errno("poll");
      }
      if (wait[0].revents != 0) {
        send();
      }
      if (wait[1].revents != 0) {
        GB_TRY(receive());
        if (job_.finished && job_.finished()) {
          return std::optional<int>();
        }
      }
      if (wait[2].revents != 0) {
        listen();
      }
      ended = ended || wait[3].revents != 0;
    }
    return std::optional(process_.wait());
  }

  [[nodiscard]] const std::string& complaint() const { return said_; }

 private:
  Result<void> check(bool ended) {
    const auto now = Clock::now();
    if (now > deadline_) {
      return Error(ErrorCode::kExhausted, job_.attempt + ": took longer than " +
                                              std::to_string(job_.time.count()) + " seconds");
    }
    if (now < next_look_) {
      return {};
    }
    next_look_ = now + kLookEvery;
    if (job_.wanted && !job_.wanted()) {
      return Error(ErrorCode::kUnavailable, "canceled");
    }
    if (!ended && written_by(process_.pid()).value_or(0) > job_.most_written) {
      return Error(ErrorCode::kExhausted, job_.attempt + ": exceeds the size limit");
    }
    return {};
  }

  void send() {
    const ssize_t put =
        ::send(input_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) {
      unsent_.remove_prefix(static_cast<std::size_t>(put));
    }
    // One that reads no more is about to say why.
    if (unsent_.empty() || (put < 0 && errno != EAGAIN && errno != EINTR)) {
      input_ = UniqueFd();
    }
  }

  Result<void> receive() {
    const ssize_t got = ::recv(output_.get(), block_.data(), block_.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return {};
    }
    if (got <= 0) {
      output_ = UniqueFd();
      return {};
    }
    const auto size = static_cast<std::size_t>(got);
    received_ += size;
    if (received_ > job_.most_written) {
      return Error(ErrorCode::kExhausted, job_.attempt + ": the result exceeds the size limit");
    }
    return job_.output ? job_.output({block_.data(), size}) : Result<void>();
  }

  void listen() {
    const ssize_t got = ::recv(complaint_.get(), block_.data(), block_.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (got <= 0) {
      complaint_ = UniqueFd();
      return;
    }
    said_.append(block_.data(),
                 std::min(static_cast<std::size_t>(got), kMostComplaint - said_.size()));
  }

  const Job& job_;
  Process& process_;
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd complaint_;
  std::string_view unsent_;
  const Clock::time_point deadline_;
  Clock::time_point next_look_;
  std::uint64_t received_ = 0;
  std::string said_;
  std::array<char, 64 * 1024> block_{};
};

// What a status and the words of standard error mean (exit_status_of()).
Result<void> judge(const Job& job, int status, const std::string& said) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGXFSZ)) {
    return Error(ErrorCode::kExhausted,
                 job.attempt + ": " +
                     (WTERMSIG(status) == SIGXCPU ? "exceeded the CPU time limit"
                                                  : "a file exceeds the size limit"));
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) - 1 : -1;
  if (code < 0 || code > static_cast<int>(ErrorCode::kInternal) || said.empty()) {
    return Error(ErrorCode::kInvalid, job.attempt + ": " + job.breach,
                 "if the file is neither damaged nor very large, report a bug: its reader ended "
                 "with " +
                     (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                          : "status " + std::to_string(WEXITSTATUS(status))));
  }
  const std::size_t end = std::min(said.find('\n'), said.size());
  const std::string hint = end < said.size() ? said.substr(end + 1) : std::string();
  return Error(static_cast<ErrorCode>(code), printable(to_utf8(said.substr(0, end))),
               printable(to_utf8(hint)));
}

}  // namespace

WaitingProgram::WaitingProgram(Process process, UniqueFd input, UniqueFd output, UniqueFd complaint)
    : process_(std::move(process)),
      input_(std::move(input)),
      output_(std::move(output)),
      complaint_(std::move(complaint)) {}

Result<WaitingProgram> WaitingProgram::start_for(const Job& job) {
  Channel output = GB_TRY(make_channel());
  Channel complaint = GB_TRY(make_channel());
  Channel input;
  if (job.input < 0) {
    input = GB_TRY(make_channel());
  }
  Process process =
      GB_TRY(Process::start({.program = job.program,
                             .arguments = job.arguments,
                             .directory = job.directory,
                             .descriptors = {job.input >= 0 ? job.input : input.theirs.get(),
                                             output.theirs.get(), complaint.theirs.get()}}));
  return WaitingProgram(std::move(process), std::move(input.ours), std::move(output.ours),
                        std::move(complaint.ours));
}

Result<WaitingProgram> WaitingProgram::start(const std::string& program,
                                             const std::vector<std::string>& arguments) {
  return start_for({.program = program, .arguments = arguments, .time = {}});
}

Result<void> WaitingProgram::run(const Job& job) {
  Conversation conversation(job, process_, std::move(input_), std::move(output_),
                            std::move(complaint_));
  const Result<std::optional<int>> status = conversation.hold();
  if (!status || !*status) {
    process_.kill();
    return status ? Result<void>() : status.error();
  }
  return judge(job, **status, conversation.complaint());
}

Result<void> run_confined(const Job& job) {
  WaitingProgram program = GB_TRY(WaitingProgram::start_for(job));
  return program.run(job);
}

}  // namespace glovebox::confined
