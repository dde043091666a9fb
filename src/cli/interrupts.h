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

  // Ends this process as the signal would have ended it, so that its parent knows. Returns the exit
  // status that says the same if the signal cannot end it: as the first process of a namespace.
  static int die_of(int number);

  // Takes a waiting signal: 0 if there is none, else its number; one that ends the program comes
  // before SIGINT.
  int take();

  // Nobody reads our output any more, which would end a program by SIGPIPE: from now on that signal
  // waits. For the thread that polls.
  static void note_reader_gone();

 private:
  UniqueFd fd_;
};

}  // namespace glovebox::cli
