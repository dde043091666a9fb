// SPDX-License-Identifier: Apache-2.0
// Request targets and host names, as the E2B door reads them (RFC 3986; WHATWG URL for queries).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::e2b {

// Undoes percent-encoding; nothing when it is malformed. With `plus_is_space`, as in forms.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

// The pairs of "k=v&k2=v2", decoded once. Of a repeated name the first one counts.
std::optional<std::map<std::string, std::string>> parse_form(std::string_view text);

struct Target {
  std::string path;                   // As it came, without the query.
  std::vector<std::string> segments;  // Split before they were decoded: one may hold a slash.
  std::map<std::string, std::string> query;

  [[nodiscard]] std::optional<std::string> parameter(const std::string& name) const;
};
// Nothing when it is malformed.
std::optional<Target> parse_target(std::string_view target);

// A port in decimal, from 1 on.
std::optional<std::uint16_t> parse_port(std::string_view text);

// Whether the text may be a sandbox's id: the service is asked for nothing else.
bool is_sandbox_id(std::string_view text);

}  // namespace glovebox::e2b
