// SPDX-License-Identifier: Apache-2.0
// What a daemon says about an execution or a process, as events and exit statuses.
#pragma once

#include <optional>
#include <string>

#include "cli/daemon/daemon_client.h"
#include "spec/event.h"

namespace glovebox::cli {

// The event to show; nothing for a kind that shows nothing.
[[nodiscard]] std::optional<Event> to_event(const Json& said);

// The bytes of {"text", "base64"}: "base64" is used if they are not UTF-8.
[[nodiscard]] std::string bytes_in(const Json& said);

// As for `glovebox run`: the guest's own, 124, 125, 126 or 137.
[[nodiscard]] int exit_status_in(const Json& verdict);

// One line about a failure; empty for a success, and for an error that the events have shown
// already.
[[nodiscard]] std::string describe_end(const Json& verdict);

// The error in an event "failed", or in an answer with the daemon's error object.
[[nodiscard]] Error error_in(const Json& said);

}  // namespace glovebox::cli
