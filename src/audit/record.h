// SPDX-License-Identifier: Apache-2.0
// Records of the journal: what to record, and the line that it becomes.
//
// A line is one JSON object without spaces between its parts. "seq" and "prev" are its first names
// and "hash" is its last. The hash is SHA-256 over the bytes of the line in front of `,"hash":`,
// and "prev" is the hash of the record before: so the bytes on the disk are what is hashed, and no
// two programs can disagree about a canonical form. In a checkpoint, the last name but one is
// "signature", which signs the bytes in front of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::audit {

// The most bytes of a line. Texts that could make it longer are cut when the record is made.
inline constexpr std::size_t kMostLine = 2UL << 20;
// Bytes of a record in which no text of a client's is recorded in full.
inline constexpr std::size_t kUsualLine = 8UL << 10;
// Bytes of any one text of a record.
inline constexpr std::size_t kMostText = 512;

inline constexpr std::string_view kCheckpoint = "audit.checkpoint";
// What a checkpoint's signature is for (audit/signing.h).
inline constexpr std::string_view kCheckpointPurpose = "glovebox.audit/1 checkpoint";
inline constexpr std::string_view kRetention = "audit.retention";

// What happened, as told by the code that saw it. Texts that are too long are cut; bytes that are
// not UTF-8 are replaced.
struct Entry {
  std::string tenant{};
  std::string key{};   // The id of the caller's key; empty: authenticated otherwise.
  std::string door{};  // "rest", "e2b", "mcp"; empty: none.
  std::string action{};
  std::string sandbox{};
  std::string context{};
  std::string subject{};             // What else it is about: the name of a template, say.
  std::string decision = "allowed";  // Or "refused".
  std::string result = "ok";         // An execution's status; else "ok" or the name of an error.
  std::string details = "{}";        // JSON text of an object: fixed fields of each action.
};

// The part of a record that does not depend on its place in the chain.
[[nodiscard]] std::string fields_of(const Entry& entry);

// A record without its end: what hashes and signatures are made of.
[[nodiscard]] std::string body_of(std::string_view fields,
                                  std::uint64_t number,
                                  std::string_view previous,
                                  std::string_view time,
                                  std::uint64_t uptime_ms);

// Completes a body to a line, with its line break, and returns the line's hash. With a signature,
// the line is a checkpoint.
std::string end_line(std::string& body, std::string_view signature = {});

// The parts of a line that hold the chain together. They point into the line.
struct Link {
  std::uint64_t number = 0;
  std::string_view previous{};
  std::string_view hash{};       // As the line says it.
  std::string_view hashed{};     // The bytes that the hash covers.
  std::string_view signature{};  // Of a checkpoint; else empty.
  std::string_view signed_part{};
};

// Parses a line without its line break. kInvalid if it is not a record. Checks neither the hash nor
// what stands between the parts.
Result<Link> parse_link(std::string_view line);

// What a record says. parse_record() fails with kInvalid if the line is not a record.
struct Record {
  std::uint64_t number = 0;
  std::string time{};
  Entry entry{};
  std::uint64_t uptime_ms = 0;
  std::string hash{};
};
Result<Record> parse_record(std::string_view line);

}  // namespace glovebox::audit
