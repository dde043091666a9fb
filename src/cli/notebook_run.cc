// SPDX-License-Identifier: Apache-2.0
#include "cli/notebook_run.h"

#include <algorithm>
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "cli/cell_end.h"
#include "cli/large_values.h"
#include "context/notebook/collect.h"
#include "context/notebook/values.h"
#include "language/registry.h"

namespace glovebox::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string kernel_name(const notebook::Notebook& notebook) {
  const auto metadata = nlohmann::json::parse(notebook.metadata, nullptr, false);
  if (!metadata.is_object() || !metadata.contains("kernelspec")) {
    return {};
  }
  const auto& kernel = metadata["kernelspec"];
  return kernel.is_object() && kernel.contains("name") && kernel["name"].is_string()
             ? kernel["name"].get<std::string>()
             : std::string();
}

bool is_blank(const std::string& source) {
  return source.find_first_not_of(" \t\r\n") == std::string::npos;
}

class NotebookRunner {
 public:
  NotebookRunner(LiveSession& session,
                 notebook::Notebook& notebook,
                 const NotebookRunOptions& options)
      : session_(session), notebook_(notebook), options_(options), collector_(notebook) {}

  Result<NotebookRun> run() {
    for (notebook::Cell& cell : notebook_.cells) {
      cell.outputs.clear();
      cell.execution_count.reset();
    }
    for (std::size_t index = 0; index < notebook_.cells.size(); ++index) {
      const notebook::Cell& cell = notebook_.cells[index];
      if (cell.kind != notebook::Cell::Kind::kCode || is_blank(cell.source) ||
          has_tag(cell, "skip-execution")) {
        continue;
      }
      if (!GB_TRY(run_cell(index))) {
        break;
      }
    }
    run_.wall = std::chrono::duration_cast<milliseconds>(Clock::now() - start_);
    return std::move(run_);
  }

 private:
  // True if the next cell may follow.
  Result<bool> run_cell(std::size_t index) {
    if (options_.begin) {
      options_.begin(index);
    }
    notebook::Cell& cell = notebook_.cells[index];
    collector_.begin(index);
    ExecuteOptions execute{.code = cell.source,
                           .limits = session_.spec().limits,
                           .cancel_fd = options_.cancel_fd};
    execute.limits.wall = time_for_cell();
    execute.observer = [this](const Event& event) {
      collector_.add(notebook::keep_inline(event, notebook::References::kKeep));
    };
    auto executed = session_.execute(execute);
    if (!executed) {
      return executed.error().code() == ErrorCode::kConflict && !session_.alive()
                 ? Result<bool>(note_absence(index))
                 : Result<bool>(std::move(executed).error());
    }
    const Execution& execution = *executed;
    ++run_.executed;
    run_.notes.insert(run_.notes.end(), execution.notes.begin(), execution.notes.end());
    if (execution.execution_count > 0) {
      cell.execution_count = execution.execution_count;
    }
    // Code that ends its interpreter leaves nothing for the cells that follow.
    const bool fine = execution.status == Status::kOk && session_.alive();
    const bool goes_on = fine || note_failure(index, execution);
    fetch_values(index);
    collector_.finish();
    return goes_on;
  }

  // An agent keeps only its newest large values, so each cell's are fetched right after it.
  void fetch_values(std::size_t index) {
    constexpr auto kPatience = std::chrono::seconds(30);
    constexpr std::size_t kMaxNotes = 200;
    Clock::time_point deadline = Clock::now() + kPatience;
    if (options_.total_time) {
      deadline = std::min(deadline, start_ + *options_.total_time + std::chrono::seconds(1));
    }
    collector_.fetch_values([&](const notebook::Reference& reference) -> Result<std::string> {
      if (!session_.alive()) {
        return Error(ErrorCode::kNotFound, "the interpreter that kept it has ended");
      }
      return LargeValues::fetch_encoded(session_.context(), reference, deadline,
                                        options_.cancel_fd);
    });
    for (const std::string& loss : collector_.losses()) {
      if (run_.notes.size() < kMaxNotes) {
        run_.notes.push_back("cell " + std::to_string(index + 1) + ": " + loss);
      }
    }
  }

  // Code may ask its interpreter to end, which happens after the cell.
  bool note_absence(std::size_t index) {
    run_.failures.push_back({.cell = index,
                             .execution_count = 0,
                             .error = {.name = "InterpreterEnded",
                                       .value = "the interpreter had ended before this cell",
                                       .traceback = {}}});
    collector_.add({.kind = Event::Kind::kError, .error = run_.failures.back().error});
    collector_.finish();
    run_.status = run_.status == Status::kOk ? Status::kError : run_.status;
    return false;
  }

  bool note_failure(std::size_t index, const Execution& execution) {
    CellFailure failure{.cell = index, .execution_count = execution.execution_count, .error = {}};
    const bool own_error = execution.status == Status::kError && session_.alive();
    if (own_error && execution.error) {
      failure.error = *execution.error;
    } else if (own_error) {
      // Wrong uses of IPython's magics, for instance, are reported only on stderr.
      failure.error = {.name = "CellFailed", .value = "see the cell's output", .traceback = {}};
    } else {
      failure.error = {.name = std::string(name_of(execution)),
                       .value = describe(execution, session_.spec().language.title),
                       .traceback = {}};
      collector_.add({.kind = Event::Kind::kError, .error = failure.error});
    }
    run_.failures.push_back(std::move(failure));
    const bool wanted = own_error && has_tag(notebook_.cells[index], "raises-exception");
    // A time-out is reported even if errors are allowed: later cells may lack what this one makes.
    if (!wanted && (!options_.allow_errors || !own_error) && run_.status == Status::kOk) {
      run_.status = execution.status == Status::kOk ? Status::kError : execution.status;
    }
    const bool may_go_on = wanted || options_.allow_errors;
    return may_go_on && session_.alive() && execution.status != Status::kCanceled && has_time();
  }

  static std::string_view name_of(const Execution& execution) {
    return execution.status == Status::kTimeout    ? "CellTimeout"
           : execution.status == Status::kCanceled ? "Canceled"
                                                   : "InterpreterEnded";
  }

  [[nodiscard]] milliseconds left() const {
    return *options_.total_time - std::chrono::duration_cast<milliseconds>(Clock::now() - start_);
  }
  [[nodiscard]] bool has_time() const { return !options_.total_time || left().count() > 0; }

  [[nodiscard]] milliseconds time_for_cell() const {
    milliseconds time = options_.cell_time.value_or(session_.spec().limits.wall);
    if (options_.total_time) {
      time = std::min(time, std::max(left(), milliseconds(1)));
    }
    return time;
  }

  LiveSession& session_;
  notebook::Notebook& notebook_;
  const NotebookRunOptions& options_;
  notebook::OutputCollector collector_;
  const Clock::time_point start_ = Clock::now();
  NotebookRun run_;
};

}  // namespace

Result<NotebookRun> run_notebook(LiveSession& session,
                                 notebook::Notebook& notebook,
                                 const NotebookRunOptions& options) {
  return NotebookRunner(session, notebook, options).run();
}

Result<Language> notebook_language(const notebook::Notebook& notebook,
                                   const std::string& wish,
                                   const TierWish& tier) {
  const Registry registry = Registry::load(Registry::user_directories());
  if (!wish.empty()) {
    return find_live_language(registry, wish, tier);
  }
  const std::string kernel = kernel_name(notebook);
  const std::string named = about(notebook).language;
  const std::string language = !named.empty() ? named : !kernel.empty() ? kernel : "python";
  auto ours = find_live_language(registry, language, tier);
  if (ours || kernel.empty()) {
    return ours;
  }
  auto theirs = find_live_language(registry, std::string(kJupyterPrefix) + kernel, tier);
  if (!theirs && registry.find(language)) {
    // Our own language lacks something; its hint is the shorter one.
    return ours;
  }
  return theirs;
}

}  // namespace glovebox::cli
