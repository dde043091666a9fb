// SPDX-License-Identifier: Apache-2.0
// ConnectionRecord: what became of one attempt of a guest to reach something outside.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace glovebox {

// A value. `host` and `reason` come from a guest, or from a process that a guest might have taken
// over.
struct ConnectionRecord {
  enum class Verdict {
    kAllowed,  // It was made.
    kDenied,   // A rule, or a bound, forbade it.
    kFailed,   // It was allowed, and came to nothing: no such name, nobody there.
  };
  std::string host;        // As the guest called it: a name or an address.
  std::uint16_t port = 0;  // Both are empty if the request could not be understood.
  Verdict verdict = Verdict::kFailed;
  std::string rule;            // What decided (NetworkDecision::rule); empty if nothing had to.
  std::string address;         // The one dialed; empty if none was, or another proxy looked it up.
  bool upstream = false;       // Through the proxy of this host, which looked the name up.
  std::uint64_t sent = 0;      // Bytes of the guest that went out.
  std::uint64_t received = 0;  // Bytes that came in for it.
  std::string reason;          // Why it was denied or failed, for people; else empty.
  friend bool operator==(const ConnectionRecord&, const ConnectionRecord&) = default;
};

// As in JSON: "allowed", "denied", "failed".
std::string_view to_string(ConnectionRecord::Verdict verdict);

}  // namespace glovebox
