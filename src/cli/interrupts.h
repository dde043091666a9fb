// SPDX-License-Identifier: Apache-2.0
// Interrupts: Ctrl-C and the signals that end a program, as something that can be polled.
#pragma once

#include "base/unique_fd.h"

namespace glovebox::cli {

// While one exists, SIGINT, SIGTERM and SIGHUP do nothing by themselves. They stay blocked after
// it.
class Interrupts {
 public:
  Interrupts();

  // Readable while a signal waits.
  [[nodiscard]] int fd() const { return fd_.get(); }

  // Ends this process as the signal would have ended it, so that whoever started it knows. Returns
  // the exit status that says the same where it cannot: as the first process of a namespace.
  static int die_of(int number);

  // Takes what waits: 0 when nothing does, else the number; one that ends the program comes before
  // SIGINT.
  int take();

  // Nobody reads our output any more, which ends a program by SIGPIPE: from now on that signal
  // waits. For the thread that polls.
  static void note_reader_gone();

 private:
  UniqueFd fd_;
};

}  // namespace glovebox::cli
