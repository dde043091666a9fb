// SPDX-License-Identifier: Apache-2.0
// What becomes of an agent's changes: they are shown, and the person decides, or an option did.
#pragma once

#include <string>

#include "cli/agent/changes.h"
#include "cli/agent/checkout.h"

namespace glovebox::cli {

struct DecisionOptions {
  bool apply = false;
  bool discard = false;
  std::string branch;  // Instead of the working files.
  std::string diff;    // A file for the patch; "-" is standard output.
  std::string agent;   // For the message of a commit.
};

enum class Outcome {
  kDone,  // Applied, discarded, or nothing to do.
  kKeep,  // They are in the sandbox and nowhere else.
};

// Shows the changes on standard output and does what the options say, or what the person at the
// terminal says. With --apply, which asks nobody, files that tools run unasked are left behind
// (caution_about()). Without either, and with an agent that failed under --apply, they are kept.
// Errors leave the checkout as it is, or say what of it was changed.
Result<Outcome> decide(const DecisionOptions& options,
                       const Checkout& checkout,
                       const CheckoutFiles& before,
                       Changes changes,
                       int agent_status);

}  // namespace glovebox::cli
