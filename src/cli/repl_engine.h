// SPDX-License-Identifier: Apache-2.0
// ReplEngine: the conversation behind `glovebox repl`, independent of how lines are read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/interrupts.h"
#include "cli/large_values.h"
#include "cli/repl_screen.h"
#include "context/notebook/collect.h"
#include "context/notebook/notebook.h"
#include "service/runs/live_session.h"

namespace glovebox::cli {

class ReplEngine {
 public:
  // All must outlive it.
  ReplEngine(LiveSession& session, ReplScreen& screen, Interrupts& interrupts);

  // Answers input(), and may take its time; absent: the end of input.
  std::function<std::optional<std::string>(const Event& question)> input;

  // Executes the code and shows the results. Replaces an interpreter that did not survive. An Error
  // is our own, not the guest's.
  Result<void> run_cell(const std::string& code);

  // A line that begins with ":" and names a command of ours.
  [[nodiscard]] bool is_command(std::string_view line) const;
  Result<void> run_command(std::string_view line);

  struct Completeness {
    bool complete = true;
    std::string indent;  // For the next line, blanks only.
  };
  [[nodiscard]] Completeness check(const std::string& code);

  struct Completions {
    std::vector<std::string> matches;
    std::size_t start = 0;  // In code points: the matches replace the text from here to the cursor.
  };
  [[nodiscard]] Completions complete(const std::string& code, std::size_t cursor);

  // Whether the user or the code wants to end.
  [[nodiscard]] bool is_over() const { return over_; }
  void end() { over_ = true; }

  // The exit status of the first cell or command that failed; 0 if none did.
  [[nodiscard]] int exit_status() const { return exit_status_; }
  void note_failure(int status) { exit_status_ = exit_status_ == 0 ? status : exit_status_; }

  [[nodiscard]] int next_count() const { return count_ + 1; }
  [[nodiscard]] LiveSession& session() { return session_; }
  [[nodiscard]] ReplScreen& screen() { return screen_; }
  [[nodiscard]] const notebook::Notebook& record() const { return record_; }
  // By the index of their cell in the record.
  [[nodiscard]] const LargeValues& large_values() const { return large_values_; }

  // Starts a new interpreter; says what is gone.
  Result<void> restart();

  // After the interpreter's end: starts a new one, unless the sandbox can go back. Then the user
  // has the choice: to go back, or to start a new one with the next cell.
  Result<void> replace();

  // As Context::checkpoint().
  Result<std::uint32_t> checkpoint(std::vector<std::string>* not_carried);
  // Goes back to the checkpoint, or the newest one if none is named. Returns its number.
  Result<std::uint32_t> rollback(std::optional<std::uint32_t> checkpoint);

  // From now on undo() takes back the last cell, as long as the sandbox is small enough for a copy
  // of it before each cell.
  void remember_cells() { remembers_ = true; }
  // Restores memory and files as they were before the last cell, even if the interpreter has died.
  Result<void> undo();

 private:
  struct Point {
    std::uint32_t id = 0;  // As the context has it.
    int count = 0;         // Of cells.
  };
  Result<void> conclude(const Execution& execution);
  Result<void> go_back(const Point& point);
  void remember();
  void forget_last();

  LiveSession& session_;
  ReplScreen& screen_;
  Interrupts& interrupts_;
  notebook::Notebook record_;
  notebook::OutputCollector collector_{record_};
  RequestBox requests_;
  LargeValues large_values_;
  int count_ = 0;
  std::map<std::uint32_t, Point> checkpoints_;  // By the number that the user knows.
  std::uint32_t last_checkpoint_ = 0;
  bool remembers_ = false;
  std::optional<Point> before_;  // Before the last cell.
  bool awaits_choice_ = false;   // The user was told of a checkpoint to go back to.
  int exit_status_ = 0;
  bool over_ = false;
};

}  // namespace glovebox::cli
