// SPDX-License-Identifier: Apache-2.0
// The options of `glovebox run`, as typed, and the request that they mean.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/shared_options.h"
#include "service/runs/one_shot.h"
#include "service/templates/content_store.h"

namespace glovebox::cli {

struct RunOptionsText : SharedOptionsText {
  std::string file;
  std::vector<std::string> arguments;
  std::string code;
  bool has_code = false;
  std::string language;
  std::string seccomp;
  std::string user;
  std::string template_name;
  std::string image;
  std::vector<std::string> packages;
  std::vector<std::string> package_sources;
  std::vector<std::string> policies;
  std::string output;
  std::string compile_time;
  std::string compile_memory;
  std::string out;
  std::string stdin_file;  // Empty or "-": our own standard input.
  [[nodiscard]] bool has_stdin_file() const { return !stdin_file.empty() && stdin_file != "-"; }
  bool nested = false;
  bool deterministic = false;
  bool compile_only = false;
  std::string verify;
  std::vector<std::string> expected_files;
  std::string output_schema;
  bool no_pool = false;
  bool raw = false;
  bool strip_ansi = false;
  bool json = false;
  bool events = false;
  bool timings = false;
  bool summary = false;
  bool quiet = false;
  bool watch = false;
  bool dry_run = false;
  std::string dry_run_network;
  bool yes = false;
};

void add_options(CLI::App& command, RunOptionsText& options);

// Only the options that say which program to run, how to compile it, and within which walls and
// limits; for other commands that run a program.
void add_program_options(CLI::App& command, RunOptionsText& options);

// Adds what follows "--": arguments, preceded by the program's file if none was named before.
void add_guest_words(const std::vector<std::string>& words, RunOptionsText& options);

// What the options mean. Reads the program's file; opens the file for standard input.
struct RunPlan {
  OneShot request;
  UniqueFd stdin_file;
  UniqueFd copied_input;       // What --file takes of our standard input.
  std::vector<Content> image;  // What the sandbox shows of an image.
};
Result<RunPlan> make_run_plan(const RunOptionsText& options);

}  // namespace glovebox::cli
