// SPDX-License-Identifier: Apache-2.0
// glovebox notebook: runs notebooks in a sandbox, and shows them as pages.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/json/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/file_watch.h"
#include "cli/interrupts.h"
#include "cli/notebook_file.h"
#include "cli/notebook_progress.h"
#include "cli/notebook_run.h"
#include "cli/output_writer.h"
#include "cli/sandbox_options.h"
#include "context/notebook/parameters.h"
#include "sandbox/slot.h"
#include "spec/json/error_json.h"
#include "spec/json/schema.h"

namespace glovebox::cli {
namespace {

constexpr const char* kNotebookRunFooter =
    R"(Without -o and --to, writes IN.run.ipynb next to IN. If a cell fails, the notebook is still
written with the outputs so far.

Exit status: 0 success; 1 a cell failed; 124 time limit; 137 memory limit; 130 interrupted; 125
glovebox error; 2 usage error.

Examples:
  glovebox notebook run analysis.ipynb
  glovebox notebook run analysis.ipynb -o analysis.ipynb          in place
  glovebox notebook run report.ipynb -p year=2026 -p town=Ulm --to both
  glovebox notebook run report.ipynb --file data --timeout 2m --to html -o report.html
  glovebox notebook run model.ipynb --kernel ir --json
  glovebox notebook run report.ipynb --to html --watch)";

constexpr const char* kExportFooter = R"(Does not run any cells.

Examples:
  glovebox notebook export analysis.ipynb                         writes analysis.html
  glovebox notebook export analysis.ipynb -o - > page.html
  glovebox notebook export old.ipynb --to ipynb -o new.ipynb      nbformat 4.5)";

struct NotebookOptionsText {
  std::string in;
  std::string out;
  std::string to;
  std::string language;
  std::string kernel;
  std::vector<std::string> parameters;
  std::string timeout;
  std::string time;
  bool allow_errors = false;
  bool json = false;
  bool quiet = false;
  bool keep_data = false;
  bool watch = false;
  SandboxOptionsText sandbox;
};

struct NotebookJob {
  notebook::Notebook notebook;
  std::vector<NotebookTarget> targets;
  NotebookRunOptions options;
  LiveSpec spec;
};

struct NotebookResult {
  NotebookRun run;
  std::string id;
  std::string tier;
};

Result<NotebookJob> make_job(const NotebookOptionsText& options) {
  NotebookJob job;
  job.targets = GB_TRY(notebook_targets(options.in, options.out, options.to, ".run", "ipynb"));
  if (options.json && job.targets.front().path == "-") {
    return Error(ErrorCode::kInvalid,
                 "cannot write both the notebook and --json to standard output",
                 "choose a file with -o");
  }
  job.options.cell_time = GB_TRY(parse_time(options.timeout, "--timeout"));
  job.options.total_time = GB_TRY(parse_time(options.time, "--time"));
  job.options.allow_errors = options.allow_errors;
  job.notebook = GB_TRY(load_notebook(options.in));
  std::vector<notebook::Parameter> parameters;
  for (const std::string& text : options.parameters) {
    parameters.push_back(GB_TRY(notebook::parse_parameter(text)));
  }
  if (!parameters.empty()) {
    GB_TRY(notebook::inject_parameters(job.notebook, parameters));
  }
  const std::string wish =
      options.kernel.empty() ? options.language : std::string(kJupyterPrefix) + options.kernel;
  Language language = GB_TRY(notebook_language(
      job.notebook, wish, {.exactly = options.sandbox.tier, .at_least = options.sandbox.min_tier}));
  job.spec = GB_TRY(make_live_spec(std::move(language), options.sandbox));
  return job;
}

// Executes the job in a session that was made ahead, or in a new one.
Result<NotebookResult> execute(NotebookJob& job,
                               NotebookProgress& progress,
                               std::unique_ptr<LiveSession> session) {
  if (session == nullptr) {
    progress.show("starting " + job.spec.language.title + " …");
    session = GB_TRY(LiveSession::open(job.spec));
  }
  const std::size_t cells = job.notebook.cells.size();
  job.options.begin = [&progress, cells](std::size_t cell) {
    progress.show("cell " + std::to_string(cell + 1) + " of " + std::to_string(cells));
  };
  NotebookResult result{.run = GB_TRY(run_notebook(*session, job.notebook, job.options)),
                        .id = std::string(session->sandbox().id()),
                        .tier = std::string(session->sandbox().tier())};
  GB_TRY(session->end());
  return result;
}

int exit_status(Status status) {
  switch (status) {
    case Status::kOk:
      return 0;
    case Status::kTimeout:
      return kExitTimeout;
    case Status::kOutOfMemory:
      return kExitOutOfMemory;
    case Status::kCanceled:
      return 130;
    default:
      return 1;
  }
}

void print_json(const NotebookJob& job, const NotebookResult& result, const std::string& language) {
  using Json = nlohmann::ordered_json;
  Json errors = Json::array();
  for (const CellFailure& failure : result.run.failures) {
    errors.push_back({{"cell", failure.cell + 1},
                      {"execution_count", failure.execution_count},
                      {"name", failure.error.name},
                      {"value", failure.error.value},
                      {"traceback", failure.error.traceback}});
  }
  Json written = Json::array();
  for (const NotebookTarget& target : job.targets) {
    written.push_back(target.path);
  }
  const Json json = {{"schema", schema_of("notebook")},
                     {"id", result.id},
                     {"status", to_string(result.run.status)},
                     {"language", language},
                     {"tier", result.tier},
                     {"cells", job.notebook.cells.size()},
                     {"executed", result.run.executed},
                     {"errors", errors},
                     {"written", written},
                     {"wall_ms", result.run.wall.count()},
                     {"notes", result.run.notes}};
  write_fully(STDOUT_FILENO, json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

// The last failure either ended the run or was allowed.
void print_for_people(const NotebookJob& job, const NotebookResult& result) {
  std::string text;
  for (const CellFailure& failure : result.run.failures) {
    text += "glovebox: cell " + std::to_string(failure.cell + 1) + " of " +
            std::to_string(job.notebook.cells.size());
    // The notebook's own count.
    text += failure.execution_count > 0 ? ", In [" + std::to_string(failure.execution_count) + "]: "
                                        : ": ";
    text += printable(failure.error.name) +
            (failure.error.value.empty() ? "" : ": " + printable(failure.error.value)) + "\n";
  }
  if (result.run.status != Status::kOk && !result.run.failures.empty()) {
    AnsiStripper stripper;
    const std::string& traceback = result.run.failures.back().error.traceback;
    text += traceback.empty() ? "" : stripper.strip(traceback) + "\n";
  }
  for (const std::string& note : result.run.notes) {
    text += "glovebox: " + printable(note) + "\n";
  }
  const auto seconds = std::chrono::duration<double>(result.run.wall).count();
  std::array<char, 32> elapsed{};
  (void)std::snprintf(elapsed.data(), elapsed.size(), "%.1f s", seconds);
  text += "ran " + std::to_string(result.run.executed) +
          (result.run.executed == 1 ? " cell in " : " cells in ") + elapsed.data();
  for (const NotebookTarget& target : job.targets) {
    text += target.path == "-" ? "" : ", wrote " + printable(target.path);
  }
  text += "\n";
  write_fully(STDERR_FILENO, text);
}

int fail(const NotebookOptionsText& options, const Error& error) {
  if (options.json) {
    write_fully(STDOUT_FILENO, to_json(error) + "\n");
  }
  return report(error);
}

int run_job(const NotebookOptionsText& options,
            NotebookJob& job,
            std::unique_ptr<LiveSession> session) {
  (void)sweep_leftovers();
  const bool terminal = ::isatty(STDERR_FILENO) == 1 && !options.quiet;
  NotebookProgress progress(terminal);
  auto result = execute(job, progress, std::move(session));
  progress.clear();
  if (!result) {
    return fail(options, result.error());
  }
  if (!options.keep_data) {
    drop_own_types(job.notebook);
  }
  for (const NotebookTarget& target : job.targets) {
    if (auto written = write_target(target, job.notebook); !written) {
      return fail(options, written.error());
    }
  }
  if (options.json) {
    print_json(job, *result, job.spec.language.id);
  } else if (!options.quiet) {
    print_for_people(job, *result);
  }
  return exit_status(result->run.status);
}

// The files whose changes cause another run: the notebook, and what is copied in.
Result<std::vector<std::string>> watched(const NotebookOptionsText& options) {
  std::error_code ignored;
  if (options.in == "-" ||
      (!options.out.empty() && std::filesystem::equivalent(options.in, options.out, ignored))) {
    return Error(ErrorCode::kInvalid,
                 "--watch needs a notebook that the run itself does not change",
                 "name two different files");
  }
  std::vector<std::string> paths = {options.in};
  for (const std::string& text : options.sandbox.files) {
    paths.push_back(GB_TRY(parse_file_to_copy(text)).source);
  }
  return paths;
}

Result<int> watch(const NotebookOptionsText& options) {
  const std::vector<std::string> paths = GB_TRY(watched(options));
  Interrupts interrupts;
  // The sandbox of the next run, with its interpreter, made while nobody is waiting.
  std::unique_ptr<LiveSession> ahead;
  for (;;) {
    // Before the files are read, so that no change is missed.
    FileWatch changes = GB_TRY(FileWatch::make(paths, ""));
    const UniqueFd changed_or_interrupted = GB_TRY(either(interrupts.fd(), changes.fd()));
    if (auto job = make_job(options); !job) {
      (void)fail(options, job.error());
    } else {
      if (ahead && ahead->spec().language.id != job->spec.language.id) {
        ahead.reset();
      }
      job->options.cancel_fd = changed_or_interrupted.get();
      (void)run_job(options, *job, std::move(ahead));
      if (auto made = LiveSession::open(job->spec, changed_or_interrupted.get()); made) {
        ahead = *std::move(made);
      }
    }
    if (!options.quiet) {
      write_fully(STDERR_FILENO, "glovebox: waiting for changes\n");
    }
    const std::set<std::string> changed = changes.await(interrupts.fd());
    if (changed.empty()) {
      ahead.reset();
      return Interrupts::die_of(interrupts.take());
    }
    if (changed != std::set<std::string>{options.in}) {
      ahead.reset();  // Its files are out of date.
    }
  }
}

int run(const NotebookOptionsText& options) {
  if (options.watch) {
    const auto watched = watch(options);
    return watched ? *watched : fail(options, watched.error());
  }
  auto job = make_job(options);
  if (!job) {
    return fail(options, job.error());
  }
  const Interrupts interrupts;
  job->options.cancel_fd = interrupts.fd();
  return run_job(options, *job, nullptr);
}

int export_notebook(const NotebookOptionsText& options) {
  auto targets = notebook_targets(options.in, options.out, options.to, "", "html");
  if (!targets) {
    return report(targets.error());
  }
  auto loaded = load_notebook(options.in);
  if (!loaded) {
    return report(loaded.error());
  }
  for (const NotebookTarget& target : *targets) {
    if (auto written = write_target(target, *loaded); !written) {
      return report(written.error());
    }
  }
  return 0;
}

void add_run_command(CLI::App& app, Action* action) {
  auto* const command = app.add_subcommand("run", "Run a notebook in a fresh sandbox");
  command->footer(kNotebookRunFooter);
  auto options = std::make_shared<NotebookOptionsText>();
  command->add_option("IN", options->in, "The notebook; '-' reads standard input")->required();
  command
      ->add_option("-o,--output", options->out,
                   "Output file; its extension selects the format; '-' writes standard output")
      ->type_name("FILE");
  command->add_option("--to", options->to, "Output format: html, ipynb or both")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"html", "ipynb", "both"}));
  command
      ->add_option("-p,--parameter", options->parameters,
                   "NAME=VALUE, injected after the cell tagged 'parameters'; repeatable")
      ->type_name("NAME=VALUE");
  auto* const language =
      command
          ->add_option("-l,--language", options->language,
                       "Language to use instead of the notebook's own; or jupyter:NAME")
          ->type_name("LANGUAGE");
  command->add_option("--kernel", options->kernel, "Use this installed Jupyter kernel")
      ->type_name("NAME")
      ->excludes(language);
  command->add_flag("--allow-errors", options->allow_errors, "Continue after failing cells");
  command
      ->add_option("--timeout", options->timeout,
                   "Wall-clock time of each cell: 30s [default: no limit]")
      ->type_name("TIME");
  command->add_option("--time", options->time, "Wall-clock time of all cells together")
      ->type_name("TIME");
  command->add_flag("--json", options->json, "Print the result as one JSON object");
  command->add_flag(
      "--keep-data", options->keep_data,
      "Keep tables and charts as data in the notebook, too (application/vnd.glovebox.*)");
  command->add_flag("-q,--quiet", options->quiet,
                    "Print neither progress, cell errors nor the summary");
  command->add_flag("--watch", options->watch,
                    "Run again whenever the notebook or a --file changes; Ctrl-C ends it");
  add_options(*command, options->sandbox);
  forbid_empty_values(*command);
  command->callback([action, options] { *action = [options] { return run(*options); }; });
}

void add_export_command(CLI::App& app, Action* action) {
  auto* const command = app.add_subcommand("export", "Convert a notebook to an HTML page");
  command->footer(kExportFooter);
  auto options = std::make_shared<NotebookOptionsText>();
  command->add_option("IN", options->in, "The notebook; '-' reads standard input")->required();
  command->add_option("-o,--output", options->out, "Output file; '-' writes standard output")
      ->type_name("FILE");
  command->add_option("--to", options->to, "Output format: html or ipynb")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"html", "ipynb"}));
  forbid_empty_values(*command);
  command->callback(
      [action, options] { *action = [options] { return export_notebook(*options); }; });
}

}  // namespace

void add_notebook(CLI::App& app, Action* action) {
  auto* const command = app.add_subcommand("notebook", "Run notebooks or convert them to HTML");
  command->require_subcommand(1);
  command->footer(R"(Examples:
  glovebox notebook run analysis.ipynb        writes analysis.run.ipynb
  glovebox notebook run report.ipynb --to html
  glovebox notebook export analysis.ipynb     writes analysis.html, runs nothing)");
  add_run_command(*command, action);
  add_export_command(*command, action);
}

}  // namespace glovebox::cli
