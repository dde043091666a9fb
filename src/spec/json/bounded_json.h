// SPDX-License-Identifier: Apache-2.0
// JSON that somebody else wrote, parsed within bounds.
//
// A value in memory takes up to sixteen times what it takes in the text, so values are counted
// while they are read, and nothing beyond the bounds is ever built.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace glovebox {

struct JsonBounds {
  std::size_t values = 10'000;  // Objects, lists, texts, numbers and names, all together.
  std::size_t depth = 32;
  bool names_twice = false;  // Whether an object may have a name twice; the last one counts then.
};

// kInvalid, naming what is wrong: it is not JSON, is beyond the bounds, or an object has a name
// twice, which no two readers understand alike. Safe to use from any thread. Large texts wait for
// their turn, so that all that are parsed at once stay below 64 MiB: kUnavailable after 5 s.
Result<nlohmann::json> parse_json(std::string_view text, JsonBounds bounds = {});

// The same for CBOR (RFC 8949), whose strings may hold any bytes. Never waits.
Result<nlohmann::json> parse_cbor(std::string_view bytes, JsonBounds bounds = {});

}  // namespace glovebox
