// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm/confinement.h"

#include "base/confined/filter.h"
#include "sandbox/policy/policy.h"

namespace glovebox::wasm {

Result<void> give_up_programs() { return confined::install_filter(policy::no_programs_filter()); }

Result<void> give_up_new_code() { return confined::install_filter(policy::no_new_code_filter()); }

}  // namespace glovebox::wasm
