// SPDX-License-Identifier: Apache-2.0
// What a journal looks like when it is opened: how far it goes, and what must be cut off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "audit/head.h"
#include "base/result.h"

namespace glovebox::audit {

struct Recovered {
  std::uint64_t segment = 0;  // The last one; 0: there is none.
  std::uint64_t size = 0;     // How many bytes of it are whole records.
  std::uint64_t number = 0;   // The last record, 0: none,
  std::string hash{};         // its hash,
  std::string time{};         // and its time.
  bool has_more = false;      // Something follows them: room, or
  std::uint64_t cut = 0;      // bytes that belong to no whole record.
  std::uint64_t unsigned_records = 0;
};

// Reads the last segment, after removing those that hold no record. kUnavailable if what the head
// covers is missing or was changed.
Result<Recovered> recover_journal(int directory, const std::optional<Head>& head);

}  // namespace glovebox::audit
