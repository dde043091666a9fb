// SPDX-License-Identifier: Apache-2.0
// Executes the cells of a notebook, one after the other, in a live session.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "context/notebook/notebook.h"
#include "service/runs/live_session.h"

namespace glovebox::cli {

struct NotebookRunOptions {
  std::optional<std::chrono::milliseconds> cell_time;   // Of each cell.
  std::optional<std::chrono::milliseconds> total_time;  // Of all cells together.
  bool allow_errors = false;
  int cancel_fd = -1;
  std::function<void(std::size_t cell)> begin;  // Before each cell that is executed; from 0.
};

struct CellFailure {
  std::size_t cell = 0;  // In the notebook, from 0.
  int execution_count = 0;
  GuestError error;  // Our own if the interpreter could not say.
};

struct NotebookRun {
  Status status = Status::kOk;  // Of the first failure that counts.
  std::size_t executed = 0;
  std::vector<CellFailure> failures;  // Allowed and expected ones too.
  std::vector<std::string> notes;
  std::chrono::milliseconds wall{0};
};

// Replaces the outputs of the notebook. As Jupyter's tools do, it leaves out empty cells and those
// tagged `skip-execution`, continues after a cell tagged `raises-exception`, and answers every
// input() with the end of input. An Error means that we could not do it.
Result<NotebookRun> run_notebook(LiveSession& session,
                                 notebook::Notebook& notebook,
                                 const NotebookRunOptions& options);

// The language in which to execute a notebook: one of ours if one can stay alive, else its own
// kernel. `wish` comes from the command line and may be empty.
Result<Language> notebook_language(const notebook::Notebook& notebook,
                                   const std::string& wish,
                                   const TierWish& tier);

}  // namespace glovebox::cli
