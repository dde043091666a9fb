// SPDX-License-Identifier: Apache-2.0
// ExecRules as JSON, between our own processes and in our records.
#pragma once

#include <string>
#include <string_view>

#include "spec/exec_rules.h"

namespace glovebox {

std::string to_json(const ExecRules& rules);

// Never fails: nothing can be started by rules that cannot be read. An empty text has no rules.
ExecRules read_stored_exec_rules(std::string_view json);

}  // namespace glovebox
