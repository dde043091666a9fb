// SPDX-License-Identifier: Apache-2.0
// glovebox run: one program, in a fresh sandbox, from start to gone.
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/output_writer.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "sandbox/slot.h"
#include "service/stream_events.h"
#include "spec/json/error_json.h"
#include "spec/json/verdict_json.h"

namespace glovebox::cli {
namespace {

constexpr const char* kFooter =
    R"(Exit status: the program's own exit status (128+N if signal N killed it); 124 time limit; 137
memory limit; 126 refused; 125 glovebox error; 2 usage error.

Examples:
  glovebox run hello.c
  glovebox run -l js -e 'console.log(6*7)'
  glovebox run solve.py --stdin input.txt --time 2s --memory 256M --json
  glovebox run plot.py --file data.csv --out results --summary
  glovebox run app.py --packages pip:flask --package-source ~/wheels
  glovebox run fix.py --verify 'python3 -m pytest -q' --file project:.)";

// Interrupting us cancels the guest, whose verdict is then shown as any other.
UniqueFd catch_interrupts() {
  sigset_t set;
  (void)::sigemptyset(&set);
  (void)::sigaddset(&set, SIGINT);
  (void)::sigaddset(&set, SIGTERM);
  (void)::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void strip(Captured& captured) {
  AnsiStripper stripper;
  captured.bytes = stripper.strip(captured.bytes);
}

// The verdict stays the guest's own. That its files are not where they were wanted is ours to say,
// and must not look like success.
int conclude(const OneShotResult& result) {
  const int status = exit_status(result.verdict);
  if (!result.not_copied) {
    return status;
  }
  (void)report(*result.not_copied);
  return status == 0 ? kExitFailed : status;
}

int run_for_json(const RunOptionsText& options, const OneShot& request) {
  auto result = run_once(request, {});
  if (!result) {
    write_fully(STDOUT_FILENO, to_json(result.error()) + "\n");
    return report(result.error());
  }
  if (options.strip_ansi) {
    strip(result->verdict.out);
    strip(result->verdict.err);
  }
  write_fully(STDOUT_FILENO, to_json(result->verdict) + "\n");
  return conclude(*result);
}

int run_for_events(const RunOptionsText& options, const OneShot& request) {
  const auto emit = [](const std::string& event) { write_fully(STDOUT_FILENO, event + "\n"); };
  StreamEvents out("stdout", request.limits.output, options.strip_ansi, emit);
  StreamEvents err("stderr", request.limits.output, options.strip_ansi, emit);
  OneShotObserver observer;
  bool begun = false;
  observer.started = [&begun](std::string_view id, std::string_view phase) {
    begun = true;
    write_fully(STDOUT_FILENO, started_event(id, phase) + "\n");
  };
  observer.out = [&out](std::string_view bytes) { out.pass(bytes); };
  observer.err = [&err](std::string_view bytes) { err.pass(bytes); };
  auto result = run_once(request, observer);
  if (!result) {
    write_fully(STDOUT_FILENO, to_json(result.error()) + "\n");
    return report(result.error());
  }
  if (!begun) {
    // The program could not be started; why not is in its streams, as always.
    observer.started(result->verdict.id, "run");
  }
  out.finish(result->verdict.out);
  err.finish(result->verdict.err);
  write_fully(STDOUT_FILENO, verdict_event(result->verdict) + "\n");
  return conclude(*result);
}

int run_for_people(const RunOptionsText& options, const OneShot& request) {
  StreamPrinter out(STDOUT_FILENO, request.limits.output, options.strip_ansi);
  StreamPrinter err(STDERR_FILENO, request.limits.output, options.strip_ansi);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  Progress progress(terminal && !options.quiet);
  OneShotObserver observer;
  observer.phase = [&progress](std::string_view phase) { progress.show(phase); };
  observer.out = [&](std::string_view bytes) {
    progress.clear();
    out.pass(bytes);
  };
  observer.err = [&](std::string_view bytes) {
    progress.clear();
    err.pass(bytes);
  };
  auto result = run_once(request, observer);
  progress.clear();
  if (!result) {
    return report(result.error());
  }
  const Verdict& verdict = result->verdict;
  out.finish(verdict.out);
  err.finish(verdict.err);
  if (verdict.verification) {
    write_fully(STDOUT_FILENO, verdict.verification->out.bytes);
    write_fully(STDERR_FILENO, verdict.verification->err.bytes);
  }
  if (options.timings) {
    write_fully(STDERR_FILENO, timing_table(verdict));
  }
  // A guest that just failed has said why itself; one that a limit ended could not.
  const bool unexplained = verdict.status != Status::kOk && verdict.status != Status::kError &&
                           verdict.status != Status::kCompileError;
  if (!options.quiet && (options.summary || terminal || unexplained)) {
    write_fully(STDERR_FILENO, summary(result.value(), request.out_directory));
  }
  return conclude(*result);
}

int run(const RunOptionsText& options) {
  auto plan = make_run_plan(options);
  if (!plan) {
    if (options.json || options.events) {
      write_fully(STDOUT_FILENO, to_json(plan.error()) + "\n");
    }
    return report(plan.error());
  }
  const UniqueFd interrupts = catch_interrupts();
  plan->request.cancel_fd = interrupts.get();
  // What an earlier glovebox left behind when it was killed goes before anything new is made.
  (void)sweep_leftovers();
  if (options.json) {
    return run_for_json(options, plan->request);
  }
  if (options.events) {
    return run_for_events(options, plan->request);
  }
  return run_for_people(options, plan->request);
}

}  // namespace

void add_run(CLI::App& app, const std::vector<std::string>& guest_words, Action* action) {
  auto* const command = app.add_subcommand("run", "Run a program in a fresh sandbox");
  command->footer(kFooter);
  auto options = std::make_shared<RunOptionsText>();
  add_options(*command, *options);
  command->callback([action, options, guest_words] {
    add_guest_words(guest_words, *options);
    *action = [options] { return run(*options); };
  });
}

}  // namespace glovebox::cli
