// SPDX-License-Identifier: Apache-2.0
// The outside of a confined program: one of our own programs, started to read for us what may be
// crafted to hurt its reader. base/confined/confine.h is what the program does to itself.
//
// Whatever such a program says is bounded here and believed as little as what it has read.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/confined/process.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::confined {

struct Job {
  std::string program{};  // Its file name, among our installed programs.
  std::vector<std::string> arguments{};
  std::string attempt{};  // What it does, for error messages: "read the layer".
  std::string breach{};   // What is wrong if it was killed or crashed: "the layer is damaged".

  int directory = -1;         // Its working directory; -1 for '/'.
  int input = -1;             // Its standard input, or -1 for `text`.
  std::string_view text{};    // Given to it over a socket.
  std::chrono::seconds time;  // Until it is killed.
  // Bytes that it may write, to files and to us, as the kernel counts them. Only a root process can
  // read that count; others rely on the bounds that the program set itself.
  std::uint64_t most_written = 0;

  // Gets its standard output in pieces; an error of it ends the program and is returned.
  std::function<Result<void>(std::string_view piece)> output{};
  // Asked after each piece; true kills the program, since it has said all that is wanted and would
  // take time to end by itself. That is a success.
  std::function<bool()> finished{};
  // Asked at first and several times a second; false kills the program, and kUnavailable is
  // returned.
  std::function<bool()> wanted{};
};

// Runs the program to its end, and blocks until then. Returns what went wrong: what the program
// says itself, with its own code, or kInvalid with `breach` when it crashed or did what its filter
// forbids, kExhausted when it went over a bound, kUnsupported when it is not installed.
// Thread-safe. The program has an empty environment, and dies with the calling thread.
Result<void> run_confined(const Job& job);

// A confined program that was started ahead of its job, and waits for its input. It dies with the
// thread that started it. One thread at a time.
class WaitingProgram {
 public:
  static Result<WaitingProgram> start(const std::string& program,
                                      const std::vector<std::string>& arguments);

  // As run_confined(), but with the program that was started before. `job` has a text for it, and
  // neither a directory nor an input. Call it once. The destructor waits for the end of a program
  // that has `finished`.
  Result<void> run(const Job& job);

 private:
  friend Result<void> run_confined(const Job& job);
  static Result<WaitingProgram> start_for(const Job& job);
  WaitingProgram(Process process, UniqueFd input, UniqueFd output, UniqueFd complaint);

  Process process_;
  UniqueFd input_;  // None if the job brings its own.
  UniqueFd output_;
  UniqueFd complaint_;
};

}  // namespace glovebox::confined
