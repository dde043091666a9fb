// SPDX-License-Identifier: Apache-2.0
// Assessments as JSON: one line without a line break, always valid UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "guard/policy/assessment.h"

namespace glovebox::policy {

// {"schema","decision","risk","decided_by","findings":[…]}.
std::string to_json(const Assessment& assessment);

// The event that an execution waits for a person, or would wait: "approval_needed". `id` is the id
// of the question, `hash` the hash of what would run, and `grants` what it would be given:
// "network example.com:443".
std::string approval_needed_event(std::string_view id,
                                  const Assessment& assessment,
                                  const std::vector<std::string>& grants,
                                  std::string_view hash);

}  // namespace glovebox::policy
