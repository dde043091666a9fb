// SPDX-License-Identifier: Apache-2.0
// Head: how far a journal goes, signed, in a file beside its segments. If a journal ends earlier
// than its head says, its end was cut off.
//
// The file has two places of a fixed size that are written in turn, so that renewing the head takes
// no room, and a power failure in the middle leaves the previous one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "audit/signing.h"
#include "base/result.h"

namespace glovebox::audit {

inline constexpr const char* kHeadFile = "head";
inline constexpr std::size_t kHeadPlace = 1024;

struct Head {
  std::uint64_t number = 0;   // Of the last record that the head covers.
  std::string hash{};         // Of that record.
  std::uint64_t segment = 0;  // The number of the first record of its segment,
  std::uint64_t size = 0;     // and how many bytes of that segment it covers.
  std::string time{};
  unsigned place = 1;  // Which place of the file it is in.
};

// A signed line, without its line break.
Result<std::string> head_line(const Head& head, const SigningKey& key);
// kInvalid if the line is not a head, or if the key did not sign it.
Result<Head> parse_head(std::string_view line, const PublicKey& key);

// The newer of the two heads; nothing if both places are empty. kInvalid if a place holds something
// other than a head, and the other place holds no head either.
Result<std::optional<Head>> read_head(int directory, const PublicKey& key);

// Writes one place of an open head file, and flushes it.
Result<void> write_head(int file, unsigned place, std::string_view line);
// Makes a file with two empty places if there is none.
Result<void> make_head_file(int directory);

}  // namespace glovebox::audit
