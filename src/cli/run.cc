// SPDX-License-Identifier: Apache-2.0
// glovebox run: one program, in a fresh sandbox, from start to gone.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/confirmation.h"
#include "cli/dry_run_text.h"
#include "cli/failure_hint.h"
#include "cli/file_watch.h"
#include "cli/interrupts.h"
#include "cli/output_writer.h"
#include "cli/progress.h"
#include "cli/run_approval.h"
#include "cli/run_options.h"
#include "sandbox/slot.h"
#include "service/runs/held_output.h"
#include "service/runs/stream_events.h"
#include "service/runs/transfer.h"
#include "spec/json/dry_run_json.h"
#include "spec/json/error_json.h"
#include "spec/json/verdict_json.h"

namespace glovebox::cli {
namespace {

constexpr const char* kRunFooter =
    R"(Exit status: the program's own exit status (128+N if signal N killed it); 123 only a check
failed; 124 time limit; 137 memory limit; 126 refused; 125 glovebox error; 2 usage error. Ctrl-C and
SIGTERM reach the program first, and end glovebox too (130, 143).

Examples:
  glovebox run hello.c
  glovebox run -l js -e 'console.log(6*7)'
  glovebox run solve.py --stdin input.txt --time 2s --memory 256M --json
  glovebox run plot.py --file data.csv --out results --summary
  glovebox run fix.py --file src --out src --dry-run
  glovebox run app.py --packages pip:flask --package-source ~/wheels
  glovebox run fetch.py --allow-net example.com:443 --allow-net '*.example.org'
  glovebox run fix.py --verify 'python3 -m pytest -q' --file project:.
  glovebox run sketch.py --watch)";

void strip(Captured& captured) {
  AnsiStripper stripper;
  captured.bytes = stripper.strip(captured.bytes);
}

// What of a guest's output may reach this descriptor.
Controls controls_for(int fd, const RunOptionsText& options) {
  if (options.strip_ansi) {
    return Controls::kNone;
  }
  if (options.raw || ::isatty(fd) != 1) {
    return Controls::kPass;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
  return std::getenv("NO_COLOR") == nullptr ? Controls::kColours : Controls::kNone;
}

bool failed_verification(const Verdict& verdict) {
  return verdict.status == Status::kUnverified ||
         (verdict.status == Status::kOk && verdict.verification &&
          verdict.verification->status != Status::kOk);
}

// The verdict stays the guest's own. We report files that could not be copied to where they were
// wanted, which must not look like success.
int conclude(const OneShotResult& result) {
  const int status =
      failed_verification(result.verdict) ? kExitUnverified : exit_status(result.verdict);
  if (!result.not_copied) {
    return status;
  }
  (void)report(*result.not_copied);
  return status == 0 ? kExitFailed : status;
}

// Runs it, and in a dry run finds out what it would write.
Result<OneShotResult> run_or_rehearse(const RunOptionsText& options,
                                      const OneShot& request,
                                      const OneShotObserver& observer,
                                      std::optional<HeldOutput>& held) {
  if (!options.dry_run) {
    return run_once(request, observer);
  }
  held.emplace(GB_TRY(HeldOutput::make()));
  OneShot rehearsal = request;
  rehearsal.out_directory = held->path();
  OneShotResult result = GB_TRY(run_once(rehearsal, observer));
  DryRun shown = GB_TRY(held->differences(result.copied_out, options.out));
  for (const ConnectionRecord& each : result.verdict.connections) {
    if (shown.hosts.size() < DryRun::kMostHosts) {
      shown.hosts.push_back(
          {.host = each.host, .port = each.port, .verdict = std::string(to_string(each.verdict))});
    }
  }
  result.verdict.dry_run = std::move(shown);
  return result;
}

// Writes what was held back.
Result<void> write_held(const RunOptionsText& options,
                        const std::optional<HeldOutput>& held,
                        OneShotResult& result) {
  DryRun& shown = *result.verdict.dry_run;
  GB_TRY(held->commit(result.copied_out, options.out, shown));
  shown.committed = true;
  return {};
}

// When a program reads our output: --yes decides, and nobody is asked.
void decide_for_programs(const RunOptionsText& options,
                         const std::optional<HeldOutput>& held,
                         OneShotResult& result) {
  if (!held) {
    return;
  }
  result.verdict.dry_run->committed = false;
  if (options.yes && !options.out.empty() && !result.not_copied) {
    if (auto written = write_held(options, held, result); !written) {
      result.not_copied = std::move(written).error();
    }
  }
}

// Shows what would be written, and asks unless --yes has agreed.
Result<void> decide_with_person(const RunOptionsText& options,
                                const std::optional<HeldOutput>& held,
                                OneShotResult& result,
                                int cancel_fd) {
  const DryRun& shown = *result.verdict.dry_run;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
  const bool colour = ::isatty(STDERR_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  write_fully(STDERR_FILENO, "── dry run: what " +
                                 (options.out.empty() ? std::string("it has made")
                                                      : printable(options.out) + " would get") +
                                 "\n" + dry_run_text(to_json(shown), colour));
  if (shown.files.empty() || result.not_copied) {
    return {};
  }
  std::string_view why;
  if (options.out.empty()) {
    why = "glovebox: nothing to write: there is no --out\n";
  } else if (!options.yes && !has_person()) {
    why = "glovebox: nothing was written: there is no terminal to ask at\n  hint: use --yes\n";
  } else if (options.yes || person_agrees("Commit these changes?", cancel_fd)) {
    GB_TRY(write_held(options, held, result));
    why = "glovebox: written\n";
  } else {
    why = "glovebox: nothing was written\n";
  }
  write_fully(STDERR_FILENO, why);
  return {};
}

int run_for_json(const RunOptionsText& options, const OneShot& request) {
  std::optional<HeldOutput> held;
  auto result = run_or_rehearse(options, request, {}, held);
  if (!result) {
    write_fully(STDOUT_FILENO, to_json(result.error()) + "\n");
    return report(result.error());
  }
  if (options.strip_ansi) {
    strip(result->verdict.out);
    strip(result->verdict.err);
  }
  decide_for_programs(options, held, *result);
  write_fully(STDOUT_FILENO, to_json(result->verdict) + "\n");
  return conclude(*result);
}

// If the reader is gone, the program ends as if it wrote to that reader itself.
void end_with_reader(bool reads) {
  if (!reads) {
    Interrupts::note_reader_gone();
  }
}

int run_for_events(const RunOptionsText& options, const OneShot& request) {
  // Connections are reported from a thread of their own.
  std::mutex one_at_a_time;
  std::atomic<bool> reads = true;
  const auto emit = [&](const std::string& event) {
    const std::lock_guard lock(one_at_a_time);
    reads = write_fully(STDOUT_FILENO, event + "\n") && reads;
  };
  StreamEvents out("stdout", request.limits.output, options.strip_ansi, emit);
  StreamEvents err("stderr", request.limits.output, options.strip_ansi, emit);
  OneShotObserver observer;
  bool begun = false;
  observer.started = [&](std::string_view id, std::string_view phase) {
    begun = true;
    emit(started_event(id, phase));
  };
  observer.connection = [&](const ConnectionRecord& connection) {
    emit(connection_event(connection));
  };
  const auto pass = [&reads](StreamEvents& stream, std::string_view bytes) {
    stream.pass(bytes);
    end_with_reader(reads);
  };
  observer.out = [&](std::string_view bytes) { pass(out, bytes); };
  observer.err = [&](std::string_view bytes) { pass(err, bytes); };
  std::optional<HeldOutput> held;
  auto result = run_or_rehearse(options, request, observer, held);
  if (!result) {
    write_fully(STDOUT_FILENO, failed_event(result.error()) + "\n");
    return report(result.error());
  }
  if (!begun) {
    // The program could not be started; its streams say why, as always.
    observer.started(result->verdict.id, "run");
  }
  out.finish(result->verdict.out);
  err.finish(result->verdict.err);
  decide_for_programs(options, held, *result);
  write_fully(STDOUT_FILENO, verdict_event(result->verdict) + "\n");
  return conclude(*result);
}

int run_for_people(const RunOptionsText& options, const OneShot& request) {
  StreamPrinter out(STDOUT_FILENO, controls_for(STDOUT_FILENO, options));
  StreamPrinter err(STDERR_FILENO, controls_for(STDERR_FILENO, options));
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  Progress progress(terminal && !options.quiet);
  OneShotObserver observer;
  observer.phase = [&progress](std::string_view phase) { progress.show(phase); };
  observer.out = [&](std::string_view bytes) {
    progress.clear();
    end_with_reader(out.pass(bytes));
  };
  observer.err = [&](std::string_view bytes) {
    progress.clear();
    end_with_reader(err.pass(bytes));
  };
  std::optional<HeldOutput> held;
  auto result = run_or_rehearse(options, request, observer, held);
  progress.clear();
  if (!result) {
    return report(result.error());
  }
  Verdict& verdict = result->verdict;
  out.finish(verdict.out);
  err.finish(verdict.err);
  if (verdict.verification) {
    out.pass(verdict.verification->out.bytes);
    err.pass(verdict.verification->err.bytes);
    out.finish({});
    err.finish({});
  }
  for (LimitReport& limit : verdict.limits) {
    // The output was passed on whole, however much of it was kept.
    limit.hit = limit.hit && limit.name != "output";
  }
  if (options.timings) {
    write_fully(STDERR_FILENO, timing_table(verdict));
  }
  // A guest that just failed has said why itself; a guest that a limit ended could not.
  const bool unexplained =
      (verdict.status != Status::kOk && verdict.status != Status::kError &&
       verdict.status != Status::kCompileError && verdict.status != Status::kCanceled) ||
      failed_verification(verdict);
  if (!options.quiet && (options.summary || terminal || unexplained)) {
    OneShotResult shown = *result;
    if (held) {
      shown.copied_out.clear();  // They are nowhere yet.
    }
    write_fully(STDERR_FILENO, summary(shown, request.out_directory, options.summary));
  }
  if (!options.quiet && verdict.status == Status::kError) {
    if (const std::string hint = failure_hint(verdict.err.bytes, verdict.walls.network);
        !hint.empty()) {
      write_fully(STDERR_FILENO, "glovebox: " + hint + "\n");
    }
  }
  if (held) {
    if (auto decided = decide_with_person(options, held, *result, request.cancel_fd); !decided) {
      result->not_copied = std::move(decided).error();
    }
  }
  return conclude(*result);
}

int refuse(const RunOptionsText& options, const Error& error) {
  if (options.json || options.events) {
    write_fully(STDOUT_FILENO, (options.json ? to_json(error) : failed_event(error)) + "\n");
  }
  return report(error);
}

struct Ended {
  int status = 0;
  int interrupted = 0;  // The signal that we got meanwhile, or 0.
};

// Runs until `cancel_fd` is readable at the latest. An interrupt goes to the program, whose verdict
// is then shown like any other.
Ended run_plan(const RunOptionsText& options, RunPlan plan, Interrupts& interrupts, int cancel_fd) {
  Ended end;
  plan.request.cancel_fd = cancel_fd;
  plan.request.cancel_signal = [&] { return end.interrupted = interrupts.take(); };
  // Before making anything new, remove what a killed glovebox left behind.
  (void)sweep_leftovers();
  end.status = options.json     ? run_for_json(options, plan.request)
               : options.events ? run_for_events(options, plan.request)
                                : run_for_people(options, plan.request);
  if (const int again = interrupts.take(); again != 0) {
    end.interrupted = again;
  }
  return end;
}

// The plan of a run, if no policy refuses it.
Result<RunPlan> approved_plan(const RunOptionsText& options) {
  RunPlan plan = GB_TRY(make_run_plan(options));
  GB_TRY(approve(options.policies, plan.request, options.events));
  return plan;
}

// The files whose changes cause another run: the program, and what is copied in.
Result<std::vector<std::string>> watched(const RunOptionsText& options) {
  if (options.has_code || options.file.empty() || options.file == "-") {
    return Error(ErrorCode::kInvalid, "--watch needs a file to watch",
                 "save the program in a file, and name it");
  }
  std::vector<std::string> paths = {options.file};
  for (const std::string& text : options.files) {
    paths.push_back(GB_TRY(parse_file_to_copy(text)).source);
    std::error_code ignored;
    if (!options.out.empty() && std::filesystem::equivalent(paths.back(), options.out, ignored)) {
      return Error(ErrorCode::kInvalid, "--out would change what --watch looks at, without end",
                   "choose another directory with --out");
    }
  }
  if (options.has_stdin_file()) {
    paths.push_back(options.stdin_file);
  }
  return paths;
}

Result<int> watch(const RunOptionsText& options) {
  const std::vector<std::string> paths = GB_TRY(watched(options));
  Interrupts interrupts;
  for (;;) {
    // Before the files are read, so that no change is missed. Anew each time, for new directories.
    FileWatch changes = GB_TRY(FileWatch::make(paths, options.out));
    const UniqueFd changed_or_interrupted = GB_TRY(either(interrupts.fd(), changes.fd()));
    if (auto plan = approved_plan(options); !plan) {
      (void)refuse(options, plan.error());
    } else if (const Ended end =
                   run_plan(options, *std::move(plan), interrupts, changed_or_interrupted.get());
               end.interrupted != 0) {
      return Interrupts::die_of(end.interrupted);
    }
    if (!options.quiet) {
      write_fully(STDERR_FILENO, "glovebox: waiting for changes\n");
    }
    if (changes.await(interrupts.fd()).empty()) {
      return Interrupts::die_of(interrupts.take());
    }
  }
}

int run(const RunOptionsText& options) {
  if (options.watch) {
    const auto watched = watch(options);
    return watched ? *watched : refuse(options, watched.error());
  }
  auto plan = approved_plan(options);
  if (!plan) {
    return refuse(options, plan.error());
  }
  Interrupts interrupts;
  const Ended end = run_plan(options, *std::move(plan), interrupts, interrupts.fd());
  return end.interrupted == 0 ? end.status : Interrupts::die_of(end.interrupted);
}

}  // namespace

void add_run(CLI::App& app, const std::vector<std::string>& guest_words, Action* action) {
  auto* const command = app.add_subcommand("run", "Run a program in a fresh sandbox");
  command->footer(kRunFooter);
  auto options = std::make_shared<RunOptionsText>();
  add_options(*command, *options);
  command->callback([action, options, guest_words] {
    add_guest_words(guest_words, *options);
    *action = [options] { return run(*options); };
  });
}

}  // namespace glovebox::cli
