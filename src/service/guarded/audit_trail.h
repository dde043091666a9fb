// SPDX-License-Identifier: Apache-2.0
// AuditTrail: what callers do, put into the journal by all doors.
//
// It knows fixed fields of each call and nothing else: no key, no token and no answer of a tool
// gets here; values of variables and contents of files only for runs whose inputs the operator
// records.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "audit/journal.h"
#include "audit/query.h"
#include "audit/recordings.h"
#include "base/json/json.h"
#include "base/result.h"
#include "service/api/caller.h"
#include "service/api/ending.h"
#include "service/api/happening.h"
#include "service/tenants/token_bucket.h"

namespace glovebox {

// Something that a caller wants to do, or has done.
struct Deed {
  std::string action{};
  std::string sandbox{};
  std::string context{};
  std::string subject{};
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
  // Members of its details that are JSON already, without braces: names and values of ours.
  std::string more{};
  // It ends or takes away something, and is possible even while the disk is full.
  bool frees = false;
};

// Safe to use from any thread. The journal outlives it.
class AuditTrail {
 public:
  struct Options {
    bool code_in_full = false;  // Records code and commands too, not only their hashes.
    bool inputs = false;        // And what runs are given and print (replay_records.h).
    // And what the network answers to them; null: it is not recorded. Outlives the trail.
    audit::Recordings* recordings = nullptr;
  };

  AuditTrail(audit::Journal& journal, const Options& options)
      : journal_(journal), options_(options) {}

  // Room for the record of an allowed deed, and for `more` bytes that it does not have yet, or that
  // further records of it have. kUnavailable if it could not be recorded.
  Result<audit::Room> room(const Deed& deed, std::size_t more = 0);

  // Records what was done, or the error of a failure. Failures cost a tenant nothing, so only
  // so many are recorded; the others are counted. Returns the record to wait for; 0: none.
  Result<std::uint64_t> note(const Caller& caller,
                             std::string_view door,
                             const Deed& deed,
                             const Error* error,
                             audit::Haste haste = audit::Haste::kNone);
  // The same with a status in place of "ok"; never bounded. On the disk soon, if not waited for.
  Result<std::uint64_t> note_end(const Caller& caller,
                                 std::string_view door,
                                 const Deed& deed,
                                 std::string_view status);
  // What the guard has refused.
  void note_refusal(const Caller& caller,
                    std::string_view door,
                    const Deed& deed,
                    const Error& error);
  // Records what only the keeper has seen, and no caller did.
  void note_happening(const Happening& happening);
  // A sandbox has ended, for whatever reason.
  void note_ending(std::string_view tenant, std::string_view sandbox, const Ending& ending);

  // As Journal::flush_meanwhile() and Journal::wait().
  void flush_meanwhile(std::uint64_t record);
  Result<void> wait(std::uint64_t record);
  // Whether the end of an execution is reported only once the disk has its record.
  [[nodiscard]] bool waits_for_ends() const {
    return journal_.durability() == audit::Durability::kAll;
  }
  Result<void> checkpoint() { return journal_.checkpoint(); }

  Result<audit::Page> read(const audit::Query& query);

  // The SHA-256 and size of the text, as "NAME_sha256" and "NAME_bytes"; and, if wanted, the text.
  void add_text(nlohmann::ordered_json& details, const char* name, std::string_view text) const;

  [[nodiscard]] bool records_inputs() const { return options_.inputs; }
  [[nodiscard]] audit::Recordings* recordings() const { return options_.recordings; }
  // The request of a run, if inputs are recorded; only its size if it is too large.
  void add_request(nlohmann::ordered_json& details, nlohmann::ordered_json body) const;

 private:
  struct Failures {
    TokenBucket bucket;
    std::uint64_t suppressed = 0;
  };

  // Whether one more failure of the tenant's is recorded; otherwise it is only counted.
  // `suppressed` becomes how many were only counted since the last record.
  bool admit_failure(const std::string& tenant, std::uint64_t& suppressed);
  Result<std::uint64_t> append(const Caller& caller,
                               std::string_view door,
                               const Deed& deed,
                               std::string_view decision,
                               std::string_view result,
                               audit::Haste haste = audit::Haste::kNone);

  audit::Journal& journal_;
  const Options options_;
  std::mutex mutex_;
  std::map<std::string, Failures, std::less<>> failures_;
};

}  // namespace glovebox
