// SPDX-License-Identifier: Apache-2.0
// Head: how far a journal goes, signed, in a file beside its segments. A journal that ends before
// its head was cut.
//
// The file has two places of a fixed size that are written in turn, so that it takes no room when
// it is renewed, and a power failure in the middle leaves the one before.
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
  std::uint64_t number = 0;   // Of the last record that it covers.
  std::string hash{};         // Of that.
  std::uint64_t segment = 0;  // The number of the first record of its segment,
  std::uint64_t size = 0;     // and how many bytes of that it covers.
  std::string time{};
  unsigned place = 1;  // Where in the file it stands.
};

// A signed line, without its line break.
Result<std::string> head_line(const Head& head, const SigningKey& key);
// kInvalid where it is none, or where the key did not sign it.
Result<Head> parse_head(std::string_view line, const PublicKey& key);

// The newer one of the two; nothing where both places are empty. kInvalid where a place holds what
// is not a head and the other is no newer.
Result<std::optional<Head>> read_head(int directory, const PublicKey& key);

// Writes one place of an open head file, and flushes it.
Result<void> write_head(int file, unsigned place, std::string_view line);
// A file with two empty places, where there is none.
Result<void> make_head_file(int directory);

}  // namespace glovebox::audit
