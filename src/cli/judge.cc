// SPDX-License-Identifier: Apache-2.0
// glovebox judge: a program, compiled once, against cases with expected outputs.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <thread>

#include "base/text.h"
#include "cli/command.h"
#include "cli/interrupts.h"
#include "cli/judge_cases.h"
#include "cli/judge_report.h"
#include "cli/output_writer.h"
#include "cli/run_options.h"
#include "cli/sandbox_options.h"
#include "sandbox/slot.h"
#include "service/judge/judge.h"
#include "service/judge/report_json.h"
#include "spec/json/error_json.h"

namespace glovebox::cli {
namespace {

constexpr const char* kJudgeFooter =
    R"(--time limits processor time, which other work on the machine does not change; a program that
sleeps or waits has three times that and 2 s. With --cpu-time, --time is wall-clock time as for run.

A case is a file NAME.in with the expected output in NAME.out or NAME.ans. cases.toml in the same
directory may set points, time and memory of a case: [NAME] points = 10, time = "2s".

Verdicts: AC accepted; WA wrong answer; TLE time limit; MLE memory limit; OLE output limit; RE
runtime error; CE compile error. That of the whole is the first that is not AC.

Exit status: 0 accepted; 1 not accepted; 125 glovebox or the checker failed; 2 usage error.

Examples:
  glovebox judge solve.cpp --cases tests --time 2s --memory 256M
  glovebox judge solve.py --cases tests --compare float:1e-6 --jobs 2 --json
  glovebox judge solve.cpp --cases tests --checker check.py --junit report.xml)";

constexpr int kExitRejected = 1;
constexpr std::string_view kStandardOutput = "-";

struct JudgeOptionsText : RunOptionsText {
  std::string cases;
  std::string compare = "lines";
  std::string checker;
  std::string junit;
  unsigned jobs = 0;
  bool first = false;
};

judge::Submission submission_of(const OneShot& request) {
  return {.language = request.language,
          .code = request.code,
          .name = request.name,
          .arguments = request.arguments,
          .limits = request.limits,
          .compile_limits = request.compile_limits,
          .tier = request.tier,
          .strict = request.strict,
          .from_pool = request.from_pool,
          .env = request.env,
          .files = request.files};
}

Result<std::unique_ptr<judge::Program>> compile(const RunOptionsText& options, int cancel_fd) {
  RunPlan plan = GB_TRY(make_run_plan(options));
  const bool own_cpu_time = plan.request.limits.cpu_time.count() > 0;
  if (!own_cpu_time) {
    judge::set_time(plan.request.limits, plan.request.limits.wall);
  }
  if (!plan.request.in_place.empty()) {
    return Error(ErrorCode::kInvalid,
                 "'" + printable(options.file) + "' is a program of the system",
                 "copy it elsewhere to judge it");
  }
  return judge::Program::compile(submission_of(plan.request), cancel_fd);
}

// A checker compiles and runs within the limits of its language.
Result<std::unique_ptr<judge::Program>> compile_checker(const JudgeOptionsText& options,
                                                        int cancel_fd) {
  if (options.checker.empty()) {
    return std::unique_ptr<judge::Program>();
  }
  RunOptionsText text;
  text.file = options.checker;
  text.tier = options.tier;
  text.min_tier = options.min_tier;
  text.no_pool = options.no_pool;
  // The files of a case take up its sandbox's disk and memory.
  text.limits = {{"disk", "1G"}, {"memory", "1536M"}};
  auto checker = GB_TRY(compile(text, cancel_fd));
  if (const auto& rejection = checker->rejection()) {
    return Error(ErrorCode::kInvalid,
                 "the checker does not compile: " + printable(rejection->outcome.err.bytes));
  }
  return checker;
}

Result<void> write_report(const std::string& path, const std::string& text) {
  if (path == kStandardOutput) {
    write_fully(STDOUT_FILENO, text);
    return {};
  }
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) {
    return Error(ErrorCode::kInvalid,
                 Error::from_errno("write '" + printable(path) + "'").message(),
                 "pass --junit a file in a writable directory");
  }
  write_fully(file.get(), text);
  return {};
}

Result<int> judge_it(const JudgeOptionsText& options, Interrupts& interrupts) {
  if (options.json && options.junit == kStandardOutput) {
    return Error(ErrorCode::kInvalid, "--json and --junit - cannot be combined",
                 "pass --junit a file");
  }
  if (options.cases.empty()) {
    return Error(ErrorCode::kInvalid, "no cases: --cases is missing",
                 "pass the directory that holds NAME.in and NAME.out for each case");
  }
  judge::JudgeOptions how;
  how.comparison = GB_TRY(judge::parse_comparison(options.compare));
  how.output = GB_TRY(parse_size(options.output, "--output")).value_or(how.output);
  how.jobs = options.jobs != 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
  how.stop_at_first = options.first;
  how.cancel_fd = interrupts.fd();
  const std::vector<judge::Case> cases = GB_TRY(read_cases(options.cases, options.checker.empty()));
  (void)sweep_leftovers();
  const auto checker = GB_TRY(compile_checker(options, interrupts.fd()));
  how.checker = checker.get();
  const auto program = GB_TRY(compile(options, interrupts.fd()));
  const bool says_all = !options.json && options.junit != kStandardOutput;
  if (says_all && !options.quiet) {
    how.ended = [](const judge::CaseReport& report) {
      write_fully(STDOUT_FILENO, line_of(report) + "\n");
    };
  }
  const judge::Report report = GB_TRY(judge::run_cases(*program, cases, how));
  if (!options.junit.empty()) {
    GB_TRY(write_report(options.junit,
                        judge_junit(report, options.file.empty() ? "code" : options.file)));
  }
  if (options.json) {
    write_fully(STDOUT_FILENO, judge::to_json(report) + "\n");
  } else if (!report.compiler_output.empty()) {
    write_fully(STDERR_FILENO, to_utf8(report.compiler_output) + "\n");
  }
  if (says_all) {
    write_fully(STDOUT_FILENO, total_of(report) + "\n");
  }
  return report.ruling == judge::Ruling::kAccepted ? 0 : kExitRejected;
}

int run(const JudgeOptionsText& options) {
  Interrupts interrupts;
  const auto judged = judge_it(options, interrupts);
  if (!judged && options.json) {
    write_fully(STDOUT_FILENO, to_json(judged.error()) + "\n");
  }
  const int status = ended(judged);
  const int interrupted = interrupts.take();
  return interrupted == 0 ? status : Interrupts::die_of(interrupted);
}

}  // namespace

void add_judge(CLI::App& app, const std::vector<std::string>& guest_words, Action* action) {
  auto* const command =
      app.add_subcommand("judge", "Run a program against cases with expected outputs");
  command->footer(kJudgeFooter);
  auto options = std::make_shared<JudgeOptionsText>();
  add_program_options(*command, *options);
  constexpr const char* kJudging = "Judging";
  command->add_option("--cases", options->cases, "Directory of the cases (required)")
      ->type_name("DIR")
      ->group(kJudging);
  command
      ->add_option("--compare", options->compare,
                   "How outputs are compared: lines, exact, tokens or float:TOLERANCE [default: "
                   "lines]")
      ->type_name("HOW")
      ->group(kJudging);
  command
      ->add_option("--checker", options->checker,
                   "Program that decides instead; it is run as CHECKER INPUT OUTPUT EXPECTED, and "
                   "exits with 0 to accept")
      ->type_name("FILE")
      ->group(kJudging);
  command->add_option("--jobs", options->jobs, "Cases at once [default: one for each processor]")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->group(kJudging);
  command->add_option("--output", options->output, "Output limit of the program [default: 64 MiB]")
      ->type_name("SIZE")
      ->group(kLimitOptions);
  command->add_flag("--first", options->first, "Skip the cases after the first that fails")
      ->group(kJudging);
  command->add_flag("--json", options->json, "Print the result as one JSON object")
      ->group(kJudging);
  command
      ->add_option("--junit", options->junit,
                   "File to write a JUnit report to; '-' is standard output")
      ->type_name("FILE")
      ->group(kJudging);
  command->add_flag("-q,--quiet", options->quiet, "Print only the total")->group(kJudging);
  forbid_empty_values(*command);
  command->callback([action, options, guest_words] {
    add_guest_words(guest_words, *options);
    *action = [options] { return run(*options); };
  });
}

}  // namespace glovebox::cli
