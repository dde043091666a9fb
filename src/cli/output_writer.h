// SPDX-License-Identifier: Apache-2.0
// What a person, or a program that reads us, sees while a guest runs and at its end.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/text.h"
#include "service/one_shot.h"
#include "spec/verdict.h"

namespace glovebox::cli {

// Passes one of the guest's streams on as it comes, within the output limit: the head at once, the
// rest, cut in the middle, at the end.
class StreamPrinter {
 public:
  StreamPrinter(int fd, Bytes limit, bool strip_ansi);

  void pass(std::string_view bytes);
  // The part of `captured` that was not passed on yet.
  void finish(const Captured& captured);

 private:
  void print(std::string_view bytes);

  int fd_;
  std::size_t head_;
  std::size_t passed_ = 0;
  bool strip_;
  AnsiStripper stripper_;
};

// Writes to a descriptor to the end, whatever it takes; gives up silently when the reader is gone.
void write_fully(int fd, std::string_view bytes);

// The closing lines for a person: status, use, files, walls.
std::string summary(const OneShotResult& result, const std::string& out_directory);

// Where the time went, one line a step.
std::string timing_table(const Verdict& verdict);

// The guest's own exit status, or ours where a limit or a refusal ended it.
int exit_status(const Verdict& verdict);

}  // namespace glovebox::cli
