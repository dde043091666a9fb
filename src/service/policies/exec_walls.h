// SPDX-License-Identifier: Apache-2.0
// The rules for commands that policies have, as walls.
#pragma once

#include <vector>

#include "base/result.h"
#include "guard/policy/policy.h"
#include "language/language.h"
#include "language/registry.h"
#include "spec/exec_rules.h"

namespace glovebox {

// What the kernel can hold of the policies: the programs that they refuse whatever their arguments,
// and those that they do not name where they refuse the rest. It cannot hold what they ask about,
// because a person may agree, and no rule about arguments.
ExecRules exec_rules_of(const std::vector<policy::Policy>& policies);

// The same for a sandbox that runs one program of the language. Fails with kRefused where that is
// compiled in the sandbox, and nothing that was written there may be started.
Result<ExecRules> exec_rules_for(const Language& language, ExecRules rules);

// The same for a sandbox in which contexts of any language may be made that the policies allow.
ExecRules exec_rules_for_contexts(const std::vector<policy::Policy>& policies,
                                  const Registry& languages);

}  // namespace glovebox
