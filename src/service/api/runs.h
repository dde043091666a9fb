// SPDX-License-Identifier: Apache-2.0
// Runs: code in a fresh sandbox that is gone afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/tiers/tier.h"
#include "service/api/caller.h"
#include "service/api/event_sink.h"
#include "service/api/judge_case.h"
#include "spec/checks.h"
#include "spec/command.h"
#include "spec/guest_rules.h"
#include "spec/limit_fields.h"
#include "spec/network_rules.h"
#include "spec/network_tape.h"

namespace glovebox {

struct RunRequest {
  std::string template_name = "default";  // A snapshot with a workspace on disk cannot be run in.
  std::string image{};                    // As a sandbox's.
  std::string language{};
  std::string code{};
  std::string name{};
  std::vector<std::string> arguments{};
  std::string standard_input{};
  std::map<std::string, std::string> files{};  // Name to bytes, copied in.
  Environment env{};
  LimitWishes limits{};
  TierWish tier{};
  bool as_root = false;
  bool as_guest = false;  // As a sandbox's.
  bool nested = false;
  std::vector<std::string> policies{};  // As a sandbox's.
  GuestRules rules{};                   // Likewise.
  std::string verify{};
  Checks checks{};
  NetworkRules network{};
  // The id of a run whose recording answers in place of the network; empty: the network does.
  std::string replay_network{};
  std::string idempotency_key{};
  // Set by the guard, never by a client: its sandbox shows glovebox-analyser.
  bool analysis = false;
  NetworkTape tape{};  // Likewise: the recording that replay_network names, and what is recorded.
};

// A program that is compiled once and judged by cases (service/judge/judge.h). The standard input,
// verification, network and key of `program` do not count.
struct JudgeRequest {
  RunRequest program{};
  std::vector<JudgeCase> cases{};
  std::string compare = "lines";        // As judge::parse_comparison() reads it.
  std::optional<RunRequest> checker{};  // Decides in place of the comparison.
  std::uint32_t jobs = 1;               // Cases at once, as far as the tenant's quota allows.
  bool stop_at_first = false;
};

class Runs {
 public:
  virtual ~Runs() = default;

  virtual Result<void> run(const Caller& caller,
                           const RunRequest& request,
                           const EventSink& sink) = 0;
  // An event "case" for each case when it and those before it have ended; the last event is the
  // report.
  virtual Result<void> judge(const Caller& caller,
                             const JudgeRequest& request,
                             const EventSink& sink) = 0;
};

}  // namespace glovebox
