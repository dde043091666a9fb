// SPDX-License-Identifier: Apache-2.0
// ReplEditor: lines at a terminal, with editing, history and completion (libedit).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/code_colours.h"
#include "cli/interrupts.h"
#include "cli/repl_engine.h"

struct editline;
struct history;

namespace glovebox::cli {

class ReplEditor {
 public:
  // `history_file` is made if it is not there; if empty, no history is kept. The interrupts must
  // outlive this object.
  ReplEditor(Interrupts& interrupts, std::string history_file);

  ReplEditor(const ReplEditor&) = delete;
  ReplEditor& operator=(const ReplEditor&) = delete;
  ~ReplEditor();

  // Completes code; the cursor counts code points.
  std::function<ReplEngine::Completions(const std::string& code, std::size_t cursor)> complete;

  // The colours of code; if empty, it has none. An answer to the guest never has any.
  std::function<std::vector<ColouredPart>(std::string_view code)> colour;

  struct Line {
    enum class End { kEntered, kInterrupted, kEnd };
    End end = End::kEnd;
    std::string text;  // May hold line breaks: pasted, recalled, or entered by Alt-Enter.
  };
  // `before` has the lines of the cell entered so far; `indent` is typed for the user.
  Line read_code(const std::string& prompt, const std::string& before, const std::string& indent);

  // An answer to the guest: without history and completion. An interrupt ends it and stays pending.
  std::optional<std::string> read_answer(const std::string& prompt, bool secret);

  void remember(const std::string& cell);

 private:
  static char* prompt_of(editline* editor);
  static int read_character(editline* editor, wchar_t* character);
  static unsigned char on_tab(editline* editor, int key);
  static unsigned char on_newline(editline* editor, int key);

  Line read_line();
  int next_character(wchar_t* character);
  bool fill();
  void paint() const;
  void fit_window();
  void take_paste_mark();
  unsigned char complete_here();
  void list(const std::vector<std::string>& matches) const;

  Interrupts& interrupts_;
  editline* editor_ = nullptr;
  history* history_;
  std::string history_file_;
  std::string prompt_;
  std::string before_;
  std::string pending_;  // Bytes from the terminal that were not handled yet.
  bool pasting_ = false;
  bool answering_ = false;
  bool interrupted_ = false;
};

}  // namespace glovebox::cli
