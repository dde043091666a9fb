// SPDX-License-Identifier: Apache-2.0
// One-shot runs for a daemon: the events of `glovebox run --events`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "language/language.h"
#include "service/keeper/calls.h"

namespace glovebox::keeper {

// Descriptors of one sandbox that runs and ends, with the streams that go in and out.
inline constexpr std::size_t kDescriptorsOfOne = 24;

// The language of a request. Fails with kUnsupported when it is not installed.
Result<Language> installed_language(const std::string& name, const CallContext& context);

// `order` says what the sandbox shows, by its home, user, environment and template, and what lets
// it out; the request's own network rules do not count. Without a home it shows what it usually
// does. `archive` is what the workspace begins with; empty: nothing.
Result<nlohmann::json> run_one_shot(const RunRequest& request,
                                    const CreateOrder& order,
                                    const std::string& archive,
                                    CallContext& context);

}  // namespace glovebox::keeper
