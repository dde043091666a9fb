// SPDX-License-Identifier: Apache-2.0
// Program: a submission, compiled once and run many times, each time in a fresh sandbox.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "language/language.h"
#include "sandbox/sandbox.h"
#include "service/runs/transfer.h"

namespace glovebox::judge {

struct Submission {
  Language language;
  std::string code;
  std::string name;  // What its author calls the file; may be empty.
  std::vector<std::string> arguments;
  Limits limits;
  Limits compile_limits;
  TierWish tier;
  GuestRules rules{};  // As OneShot::rules.
  bool strict = false;
  bool from_pool = false;  // As OneShot::from_pool.
  Environment env;
  std::vector<FileToCopy> files;  // Beside the program in each run, as for OneShot.
};

class Program {
 public:
  // What the compiler said, when it did not accept the submission.
  struct Rejection {
    RunOutcome outcome;
  };

  // Compiles if the language compiles. An Error is our failure; `rejection()` is the submission's.
  // `cancel_fd` as in RunOptions.
  static Result<std::unique_ptr<Program>> compile(Submission submission, int cancel_fd);

  // Nothing when the program can be run.
  [[nodiscard]] const std::optional<Rejection>& rejection() const { return rejection_; }

  // Of a run, as the submission has them.
  [[nodiscard]] const Limits& limits() const { return submission_.limits; }

  // How long the compiler took; zero if there was none.
  [[nodiscard]] std::chrono::microseconds compile_time() const { return compile_time_; }

  // Runs it with further arguments and files by name, in a sandbox that ends with it. Any number of
  // threads may do so at once. Requires: no rejection.
  struct Start {
    std::vector<std::string> arguments{};
    std::vector<std::pair<std::string, std::string_view>> contents{};
    RunOptions options{};  // With limits(), or others. `strict` is the submission's.
  };
  Result<RunOutcome> run(const Start& start) const;

 private:
  explicit Program(Submission submission) : submission_(std::move(submission)) {}

  [[nodiscard]] SandboxSpec sandbox_spec(const Limits& limits) const;
  Result<std::unique_ptr<Sandbox>> furnished(const SandboxSpec& spec, const Plan& plan) const;
  void find_product(const Plan& plan);
  Result<void> put_products(Sandbox& sandbox) const;
  Result<void> compile_in(Sandbox& sandbox, const Plan& plan, int cancel_fd);

  Submission submission_;
  std::optional<Rejection> rejection_;
  UniqueFd products_;  // A tar archive that the compiler's sandbox wrote: hostile. Or none.
  // The same if it is one small file, which is written without an archiver.
  struct Product {
    std::string name;
    std::uint32_t mode;
    std::string bytes;
  };
  std::optional<Product> product_;
  std::chrono::microseconds compile_time_{0};
};

}  // namespace glovebox::judge
