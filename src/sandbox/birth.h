// SPDX-License-Identifier: Apache-2.0
// Births in namespaces that are not ours: in a realm, or in a user namespace mapped by somebody who
// has no ids to give (sandbox/guest_ids.h), such as an ordinary user.
#pragma once

#include "base/result.h"
#include "base/sys/kernel_abi.h"
#include "sandbox/child/plan.h"
#include "sandbox/launch.h"

namespace glovebox {

// Part of clone_into(), and does the same. Requires: a realm, or that we have no ids to give and
// `arguments` ask for a user namespace; and that we are undumpable. The flags in `arguments` are
// those of `where` and what clone_into() adds.
Result<Cloned> clone_by_helpers(child::Plan& plan,
                                SetupStacks& stacks,
                                abi::CloneArgs arguments,
                                const Birthplace& where);

}  // namespace glovebox
