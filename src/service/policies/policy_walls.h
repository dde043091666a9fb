// SPDX-License-Identifier: Apache-2.0
// The rules for commands and files that policies have, as walls.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "guard/policy/policy.h"
#include "language/language.h"
#include "language/registry.h"
#include "spec/guest_rules.h"

namespace glovebox {

// The part of the policies that the kernel can enforce. Of commands: the programs that they refuse
// whatever the arguments, and, if they refuse the rest, those that they do not name; no rule about
// arguments. Of files: what guard/policy/file_places.h finds. The kernel cannot enforce what they
// ask a person about, because the person may agree.
GuestRules guest_rules_of(const std::vector<policy::Policy>& policies);

// The same for a sandbox that runs one program of the language, which is in this file of the
// workspace. Fails with kRefused if the program is compiled in the sandbox, and nothing that was
// written there may be started, or not all of the workspace may be read.
Result<GuestRules> rules_for(const Language& language, const std::string& file, GuestRules rules);

// The same for a sandbox that may have contexts of any language that the policies allow.
GuestRules guest_rules_for_contexts(const std::vector<policy::Policy>& policies,
                                    const Registry& languages);

}  // namespace glovebox
