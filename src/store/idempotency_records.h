// SPDX-License-Identifier: Apache-2.0
// IdempotencyRecords: lets a client send a request again without it being done twice.
//
// The first caller with a key claims it, does the work and records the answer; others get that
// answer, or learn that the work is under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace glovebox {

struct IdempotencyClaim {
  std::string tenant;
  std::string key;      // As the client chose it; 1 to 255 characters.
  std::string what;     // The operation and a hash of its request: a key is for one request only.
  std::string subject;  // The id that the work will have, so that its trace can be found after a
                        // crash.
  SystemTime expires{};
};

// Where the answer to a request is.
enum class AnswerPlace {
  kRow = 0,      // In the record itself.
  kFile = 1,     // Too large for the record: the recorder keeps it in a file.
  kNowhere = 2,  // The request was done, but there was no room for its answer.
};

struct IdempotencyOutcome {
  enum class Kind {
    kFirst,     // The caller must do the work, and then finish or abandon it.
    kUnderWay,  // Another caller is doing the work, or died doing it.
    kAnswered,
  };
  Kind kind = Kind::kFirst;
  std::string subject;  // Of the first caller's claim.
  std::string answer;   // kAnswered, in kRow: as it was recorded.
  AnswerPlace place = AnswerPlace::kRow;
};

// Safe to use from any thread.
class IdempotencyRecords {
 public:
  explicit IdempotencyRecords(Database& database) : database_(database) {}

  // kConflict if the key was used for another request. A key that expired before `now` is free.
  Result<IdempotencyOutcome> claim(const IdempotencyClaim& claim,
                                   SystemTime now,
                                   Durability durability);

  // Records the answer, at most 1 MiB, or that it is elsewhere. `subject` is the claim's own:
  // kNotFound if another claim holds the key by now.
  Result<void> finish(std::string_view tenant,
                      std::string_view key,
                      std::string_view subject,
                      std::string_view answer,
                      Durability durability,
                      AnswerPlace place = AnswerPlace::kRow);

  // The work failed: frees the key, unless it is answered or another claim holds it.
  Result<void> abandon(std::string_view tenant, std::string_view key, std::string_view subject);

  // Claims without an answer, which a starting daemon has to finish or abandon.
  Result<std::vector<IdempotencyClaim>> unfinished();

  // The claims whose answers are in files.
  Result<std::vector<IdempotencyClaim>> answered_by_files();

  // Forgets at most `most` claims that expired before `now`; returns how many.
  Result<std::uint64_t> forget_expired(SystemTime now, std::size_t most = 1'000);

 private:
  Database& database_;
};

}  // namespace glovebox
