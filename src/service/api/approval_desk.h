// SPDX-License-Identifier: Apache-2.0
// ApprovalDesk: where people see what a policy asks them about, and decide; and where models say
// what they think of a run.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "guard/policy/assessment.h"
#include "service/api/caller.h"

namespace glovebox {

// The kind of a tool call; its code is the name of the tool and its arguments.
inline constexpr std::string_view kToolCallKind = "tool_call";

// A question to a person, bound by `hash` to all that would run and all that it would be granted.
struct Approval {
  std::string id{};  // Random: only those who were told know it.
  std::string tenant{};
  std::string sandbox{};  // Empty: a one-shot run, in a sandbox of its own.
  // "execution", "run", "judge", "command", "packages", "template", or kToolCallKind.
  std::string kind{};
  std::string language{};  // Of the code.
  std::string code{};      // Its beginning, when it is long; UTF-8.
  policy::Assessment assessment{};
  std::vector<std::string> grants{};  // "network example.com", "root".
  // What a dry run of it has changed, as JSON text (docs/dry-run.md); empty: there was none.
  std::string dry_run{};
  std::string no_dry_run{};  // Why there was none although a policy wants one; empty: none does.
  std::string hash{};
  std::chrono::system_clock::time_point asked{};
  std::chrono::system_clock::time_point expires{};
};

struct ApprovalReply {
  bool agree = false;
  std::string hash{};     // Of what was looked at.
  bool remember = false;  // The same hash is not asked about again, as long as the daemon runs.
};

// What a second model says of a run (service/guarded/reviews.h).
struct ReviewReply {
  bool ok = false;
  std::string reason{};
};

// Any thread.
class ApprovalDesk {
 public:
  virtual ~ApprovalDesk() = default;

  // What waits in the caller's tenant, the oldest first.
  virtual Result<std::vector<Approval>> waiting(const Caller& caller) = 0;

  // Decides, once. kNotFound if the tenant was never asked this; kConflict if it is decided or
  // over, or if the reply was made about something else.
  virtual Result<void> decide(const Caller& caller,
                              std::string_view id,
                              const ApprovalReply& reply) = 0;

  // Answers a review that a run waits for, once. kNotFound if the tenant was never asked for it or
  // it is over, kConflict if it is answered already.
  virtual Result<void> review(const Caller& caller,
                              std::string_view id,
                              const ReviewReply& reply) = 0;
};

}  // namespace glovebox
