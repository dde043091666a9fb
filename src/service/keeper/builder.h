// SPDX-License-Identifier: Apache-2.0
// The builder: a process that builds one template, or reads one for an archive.
//
// Builds unpack what tenants bring, and make sandboxes. The keeper has each of them done by a
// process of its own, so that one that crashes or leaks harms no living sandbox. The builder speaks
// with the keeper's caller itself, on the caller's connection:
//
//   events   {"kind", "step", "steps", "text"}: a BuildEvent
//            {"spend": BYTES}: will be written; the caller puts a byte into the pipe that it passed
//            as the first descriptor: 1 if they may be, else 0
//            {"give_back": BYTES}: that many of those are no longer there
//            {"size": BYTES}, then {"bytes": …} again and again: an archive
//   answer   {"parts", "cached", "sizes"}, with the descriptors that hold the pieces; {} for an
//            archive
//
// A build is canceled when its caller goes.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::keeper {

// The first descriptors that go with a call "build_template"; those of recipe_json() follow.
inline constexpr std::size_t kGrants = 0;

// The size that precedes the caller's answer about a template, and the most it may be: a pipe takes
// that much whether the builder still reads or not.
using BaseSize = std::uint32_t;
inline constexpr BaseSize kMaxBase = 32U * 1024;

// What the keeper gives a builder.
struct BuilderOrder {
  // {"recipe": recipe_json(), "base": parts_json(), "public_only": as in egress::Order}, or
  // {"name", "parts": parts_json()} for an archive
  const nlohmann::json& request;
  std::string directory;  // The data directory.
  int socket = -1;        // The caller's connection.
  std::vector<UniqueFd> passed{};
  // Another user's daemon has fewer rights than the builder; what would lend it more is refused.
  bool foreign = false;
};

// Builds in a new process, and waits for its end; it is killed some time after `listens` says no.
// `lent` becomes true once the connection is the builder's. Success: the caller has its answer, or
// an error. kExhausted when too many builds are under way, kInternal when the builder ended without
// an answer: what the connection has carried may be cut.
Result<void> run_in_builder(const BuilderOrder& order,
                            const std::function<bool()>& listens,
                            bool& lent);

// Runs as the builder; descriptors are as run_in_builder() arranges them. Returns its exit status.
int run_builder(const std::string& directory);

}  // namespace glovebox::keeper
