// SPDX-License-Identifier: Apache-2.0
// The calls that a daemon makes of its keeper, by name: each from a request to an answer.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/keeper/keeper.h"
#include "service/keeper/wire.h"

namespace glovebox::keeper {

// What a call takes of the keeper, and how long its caller waits for it.
enum class CallKind {
  kEnds,    // Ends something, or asks what lives: has room of its own in the budget of calls.
  kShort,   // Waits for nothing, or for a warden.
  kLong,    // Starts, copies, or waits for a guest.
  kStream,  // Continues until its end is told, or until the caller goes.
};

struct CallTerms {
  CallKind kind = CallKind::kShort;
  // Until the caller gives up, which cancels what still waits; nothing for a stream.
  std::optional<std::chrono::milliseconds> patience{};
};

// An unknown call has the terms of a short one.
CallTerms terms_of(std::string_view name);

// A process whose events are told after the call, without a thread (follower.h).
struct Following {
  std::shared_ptr<HeldSandbox> sandbox;
  std::shared_ptr<HeldProcess> process;
  bool from_start = false;
};

// What a call is given besides its arguments.
struct CallContext {
  Keeper& keeper;
  // Tells the caller something before the answer. If the caller is gone, it is not told, and
  // nothing else happens: what runs continues. For one thread at a time.
  std::function<void(std::string_view)> tell;
  // For calls that send more than tell() does, or send without waiting.
  KeeperWire& wire;
  // False once the caller is gone; only then does its socket become readable.
  std::function<bool()> listens;
  int socket = -1;
  CallTerms terms{};
  // The caller is another user than the keeper, with fewer rights.
  bool foreign = false;
  // Came with the request.
  std::vector<UniqueFd> handed{};
  // Goes with the answer.
  std::vector<UniqueFd> passed{};
  // In place of an answer, which comes after the last event.
  std::optional<Following> following{};
  // Somebody else speaks, or spoke, on the connection: either an answer has been sent, or there was
  // an error and the connection cannot be used again.
  bool lent = false;
};

// The answer. Fails with kInvalid for an unknown call. May throw what the standard library throws.
Result<nlohmann::json> call(std::string_view name,
                            const nlohmann::json& arguments,
                            CallContext& context);

}  // namespace glovebox::keeper
