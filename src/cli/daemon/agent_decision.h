// SPDX-License-Identifier: Apache-2.0
// Decides about an agent's changes: shows them and asks the person, unless an option has decided.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/agent/changes.h"
#include "cli/agent/checkout.h"

namespace glovebox::cli {

struct DecisionOptions {
  bool apply = false;
  bool discard = false;
  std::string branch;        // Instead of the working files.
  std::string diff;          // A file for the patch; "-" is standard output.
  std::string agent;         // For the message of a commit.
  bool for_program = false;  // Shows and asks nothing on standard output.
};

enum class Outcome {
  kUnchanged,
  kApplied,
  kCommitted,
  kDiscarded,
  kWritten,  // All of them, to the patch.
  kKept,     // They are in the sandbox and nowhere else.
};

struct DecidedChange {
  std::string path;
  Change::Kind kind = Change::Kind::kModified;
  std::size_t added = 0;  // Lines.
  std::size_t removed = 0;
  bool binary = false;
  bool executable = false;
  bool is_link = false;
  bool runs_unasked = false;  // Tools run it (caution_about()).
};

struct Decided {
  Outcome outcome = Outcome::kUnchanged;
  std::string commit{};                  // Of kCommitted.
  std::vector<DecidedChange> changes{};  // By path.
  std::vector<LeftBehind> left_behind{};
};

// Shows the changes on standard output and does what the options say, or what the person at the
// terminal says. With --apply, which asks nobody, files that tools run unasked are left behind
// (caution_about()). With neither options nor a person, or if the agent failed under --apply or
// --branch, the changes are kept. Errors leave the checkout as it is, or say what was changed.
Result<Decided> decide(const DecisionOptions& options,
                       const Checkout& checkout,
                       const CheckoutFiles& before,
                       Changes changes,
                       int agent_status);

}  // namespace glovebox::cli
