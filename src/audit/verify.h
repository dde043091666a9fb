// SPDX-License-Identifier: Apache-2.0
// Whether a journal is what was written: each record, their order, what is signed, and how far it
// goes. Its input is hostile: somebody may have changed it to hurt the program that reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/signing.h"
#include "base/result.h"

namespace glovebox::audit {

// A head that was kept elsewhere: the record with this number had this hash.
struct KnownHead {
  std::optional<std::uint64_t> number{};  // Nothing: any record may have it.
  std::string hash{};
};

// Parses lines "NUMBER HASH", as a witness gets them; kInvalid if a line is not one.
Result<std::vector<KnownHead>> parse_witness(std::string_view text);

struct Problem {
  std::string segment{};     // The file; empty if it is about none.
  std::uint64_t line = 0;    // From 1; 0 if it is about none.
  std::uint64_t offset = 0;  // Of that line, in bytes.
  std::uint64_t record = 0;  // The number of the record; 0 if it is about none.
  std::string what{};
};

struct Report {
  static constexpr std::size_t kMostProblems = 50;

  std::vector<Problem> problems{};  // In the order of the journal; no more than kMostProblems.
  std::uint64_t first = 0;          // The first and
  std::uint64_t last = 0;           // the last record; 0: there is none.
  std::string hash{};               // Of the last one.
  std::uint64_t segments = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t signed_through = 0;   // What the last checkpoint covers.
  std::uint64_t removed_through = 0;  // By retention.
  std::uint64_t clock_changes = 0;
  std::uint64_t unfinished = 0;  // Bytes at the end that are not a record yet, or never will be.
  std::string signer{};
};

// Reads the whole journal of a directory once. An error means that it cannot be read.
Result<Report> verify(int directory, const PublicKey& key, const std::vector<KnownHead>& known);

}  // namespace glovebox::audit
