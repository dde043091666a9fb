// SPDX-License-Identifier: Apache-2.0
#include "service/judge/judge.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/sys/memory_file.h"
#include "base/text.h"

namespace glovebox::judge {
namespace {

// What is kept of standard error, and of what a checker or a compiler says.
constexpr Bytes kMaxMessage = 16_KiB;

constexpr const char* kInputFile = "input.txt";
constexpr const char* kOutputFile = "output.txt";
constexpr const char* kExpectedFile = "expected.txt";

bool is_readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&polled, 1, 0) > 0;
}

// Collects what a program prints, and says so when that is too much.
class BoundedOutput {
 public:
  static Result<BoundedOutput> create(Bytes most) {
    UniqueFd full(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!full) {
      return Error::from_errno("eventfd");
    }
    return BoundedOutput(most, std::move(full));
  }

  void take(std::string_view bytes) {
    const std::size_t room = most_ - text_.size();
    text_ += bytes.substr(0, room);
    if (bytes.size() > room && !exceeded_) {
      exceeded_ = true;
      end();
    }
  }

  // Readable when the program must end.
  [[nodiscard]] int full_fd() const { return full_.get(); }
  void end() const { (void)::eventfd_write(full_.get(), 1); }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool exceeded() const { return exceeded_; }

 private:
  BoundedOutput(Bytes most, UniqueFd full) : most_(most.count), full_(std::move(full)) {}

  std::size_t most_;
  std::string text_;
  bool exceeded_ = false;
  UniqueFd full_;
};

std::string first_lines(const Captured& captured) {
  std::string text = to_utf8(captured.bytes);
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text;
}

// Why a run did not end well.
Ruling ruling_of(const RunOutcome& outcome) {
  switch (outcome.status) {
    case Status::kOk:
      return Ruling::kAccepted;
    case Status::kTimeout:
      return Ruling::kTimeLimit;
    case Status::kOutOfMemory:
      return Ruling::kMemoryLimit;
    case Status::kCanceled:
      return Ruling::kSkipped;
    default:
      return Ruling::kRuntimeError;
  }
}

class Judge {
 public:
  Judge(const Program& program, const std::vector<Case>& cases, const JudgeOptions& options)
      : program_(program),
        cases_(cases),
        options_(options),
        reports_(cases.size()),
        has_ended_(cases.size()) {}

  Result<Report> run() {
    const std::size_t jobs = std::clamp<std::size_t>(options_.jobs, 1, cases_.size());
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 1; i < jobs; ++i) {
        workers.emplace_back([this] { work(); });
      }
      work();
    }
    if (failed_) {
      return std::move(*failed_);
    }
    return summed_up();
  }

 private:
  void work() {
    for (std::size_t at = next_++; at < cases_.size(); at = next_++) {
      const Case& each = cases_[at];
      CaseReport report{.name = each.name, .points_of = each.points};
      try {
        // Cases after the first that is not accepted are not wanted; those before it are.
        if (at < end_ && !is_readable(options_.cancel_fd)) {
          if (auto judged = judge(each, report); !judged) {
            fail(std::move(judged).error());
          }
        }
      } catch (const std::exception& unforeseen) {
        fail(Error(ErrorCode::kExhausted, unforeseen.what()));
      }
      if (options_.stop_at_first && report.ruling != Ruling::kAccepted) {
        std::size_t end = end_;
        while (at < end && !end_.compare_exchange_weak(end, at)) {
        }
      }
      const std::scoped_lock lock(mutex_);
      reports_[at] = std::move(report);
      has_ended_[at] = true;
      for (; options_.ended && !failed_ && told_ < cases_.size() && has_ended_[told_]; ++told_) {
        options_.ended(reports_[told_]);
      }
    }
  }

  void fail(Error error) {
    const std::scoped_lock lock(mutex_);
    if (!failed_) {
      failed_ = std::move(error);
    }
    end_ = 0;
  }

  Result<void> judge(const Case& each, CaseReport& report) {
    const UniqueFd input = GB_TRY(sys::memory_file(each.input));
    BoundedOutput output = GB_TRY(BoundedOutput::create(options_.output));
    Program::Start start;
    start.options.limits = program_.limits();
    start.options.limits.memory = each.memory.value_or(start.options.limits.memory);
    start.options.limits.output = kMaxMessage;
    if (each.time) {
      set_time(start.options.limits, *each.time);
    }
    start.options.stdin_fd = input.get();
    start.options.cancel_fd = output.full_fd();
    start.options.observer.out = [&](std::string_view bytes) { output.take(bytes); };
    const Canceled canceled(options_.cancel_fd, output);
    const RunOutcome outcome = GB_TRY(program_.run(start));
    report.usage = outcome.usage;
    report.exit_code = outcome.exit_code;
    report.signal = outcome.signal;
    report.ruling = output.exceeded() ? Ruling::kOutputLimit : ruling_of(outcome);
    switch (report.ruling) {
      case Ruling::kAccepted:
        GB_TRY(check(each, output.text(), report));
        break;
      case Ruling::kOutputLimit:
        report.message = "printed more than " + to_string(options_.output);
        break;
      case Ruling::kRuntimeError:
        report.message = first_lines(outcome.err);
        break;
      default:
        break;
    }
    report.points = report.ruling == Ruling::kAccepted ? each.points : 0;
    return {};
  }

  // Ends the run when the whole judgement is canceled.
  class Canceled {
   public:
    Canceled(int cancel_fd, const BoundedOutput& output) {
      if (cancel_fd >= 0) {
        stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
        watcher_ = std::jthread([cancel_fd, stop = stop_.get(), &output] {
          std::array<pollfd, 2> polled = {{{cancel_fd, POLLIN, 0}, {stop, POLLIN, 0}}};
          while (::poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) {
          }
          if (polled[0].revents != 0) {
            output.end();
          }
        });
      }
    }
    Canceled(const Canceled&) = delete;
    Canceled& operator=(const Canceled&) = delete;
    ~Canceled() {
      if (stop_) {
        (void)::eventfd_write(stop_.get(), 1);
      }
    }

   private:
    UniqueFd stop_;
    std::jthread watcher_;
  };

  Result<void> check(const Case& each, const std::string& output, CaseReport& report) {
    if (options_.checker == nullptr) {
      if (auto differs = difference(each.expected, output, options_.comparison); differs) {
        report.ruling = Ruling::kWrongAnswer;
        report.message = std::move(*differs);
      }
      return {};
    }
    Program::Start start;
    start.arguments = {kInputFile, kOutputFile, kExpectedFile};
    start.contents = {{kInputFile, each.input},
                      {kOutputFile, output},
                      {kExpectedFile, each.expected}};
    start.options.limits = options_.checker->limits();
    start.options.limits.output = kMaxMessage;
    start.options.cancel_fd = options_.cancel_fd;
    const RunOutcome outcome = GB_TRY(options_.checker->run(start));
    if (outcome.status == Status::kCanceled) {
      report.ruling = Ruling::kSkipped;
      return {};
    }
    const bool decided = outcome.status == Status::kOk ||
                         (outcome.status == Status::kError && outcome.exit_code <= 2);
    if (!decided) {
      return Error(ErrorCode::kInvalid,
                   "the checker failed for case '" + printable(each.name) +
                       "': " + std::string(glovebox::to_string(outcome.status)) + ", exit status " +
                       std::to_string(outcome.exit_code) + ": " +
                       printable(first_lines(outcome.err)),
                   "it must exit with 0 to accept, or 1 or 2 to reject");
    }
    report.ruling = outcome.exit_code == 0 ? Ruling::kAccepted : Ruling::kWrongAnswer;
    report.message = first_lines(outcome.err.bytes.empty() ? outcome.out : outcome.err);
    return {};
  }

  Report summed_up() {
    Report report;
    report.compile_time = program_.compile_time();
    // Whether later cases had already begun is chance.
    const std::size_t first_failed = std::min<std::size_t>(end_, reports_.size());
    for (std::size_t at = first_failed + 1; at < reports_.size(); ++at) {
      reports_[at] = {.name = reports_[at].name, .points_of = reports_[at].points_of};
    }
    for (const CaseReport& each : reports_) {
      report.points += each.points;
      report.points_of += each.points_of;
      if (report.ruling == Ruling::kAccepted) {
        report.ruling = each.ruling;
      }
    }
    report.cases = std::move(reports_);
    return report;
  }

  const Program& program_;
  const std::vector<Case>& cases_;
  const JudgeOptions& options_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> end_ = std::size_t(-1);
  std::mutex mutex_;
  std::vector<CaseReport> reports_;
  std::vector<bool> has_ended_;
  std::size_t told_ = 0;  // For how many `ended` was called.
  std::optional<Error> failed_;
};

Report rejected(const Program& program, const std::vector<Case>& cases) {
  const RunOutcome& outcome = program.rejection()->outcome;
  const bool canceled = outcome.status == Status::kCanceled;
  Report report{
      .ruling = canceled ? Ruling::kSkipped : Ruling::kCompileError,
      .compile_time = program.compile_time(),
      .compiler_output = first_lines(outcome.err.bytes.empty() ? outcome.out : outcome.err)};
  for (const Case& each : cases) {
    report.cases.push_back({.name = each.name, .ruling = report.ruling, .points_of = each.points});
    report.points_of += each.points;
  }
  return report;
}

}  // namespace

void set_time(Limits& limits, std::chrono::milliseconds time) {
  limits.cpu_time = time;
  limits.wall = 3 * time + std::chrono::seconds(2);
}

std::string_view to_string(Ruling ruling) {
  switch (ruling) {
    case Ruling::kAccepted:
      return "AC";
    case Ruling::kWrongAnswer:
      return "WA";
    case Ruling::kTimeLimit:
      return "TLE";
    case Ruling::kMemoryLimit:
      return "MLE";
    case Ruling::kOutputLimit:
      return "OLE";
    case Ruling::kRuntimeError:
      return "RE";
    case Ruling::kCompileError:
      return "CE";
    case Ruling::kSkipped:
      break;
  }
  return "SKIPPED";
}

Result<Report> run_cases(const Program& program,
                         const std::vector<Case>& cases,
                         const JudgeOptions& options) {
  if (program.rejection()) {
    return rejected(program, cases);
  }
  return Judge(program, cases, options).run();
}

}  // namespace glovebox::judge
