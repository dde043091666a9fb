// SPDX-License-Identifier: Apache-2.0
// Policies on the command line: where they come from, and how a finding is shown to a person.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "guard/policy/assessment.h"
#include "guard/policy/policy.h"

namespace glovebox::cli {

// The policy in a file, or the shipped one of that name. The argument means a file if it holds a
// slash or a dot, and standard input if it is "-".
Result<policy::Policy> load_policy(const std::string& file_or_name);

// The examples beside a policy: NAME.examples.toml beside NAME.toml, or the shipped ones.
Result<std::vector<policy::Example>> load_examples(const std::string& file_or_name);

// Findings, each with the line of the code that it is about, and a last line with the decision.
// Places begin with `code_name`. Control characters of the code are escaped.
std::string describe(const policy::Assessment& assessment,
                     std::string_view code,
                     std::string_view code_name,
                     bool colour);

}  // namespace glovebox::cli
