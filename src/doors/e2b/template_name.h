// SPDX-License-Identifier: Apache-2.0
// Names of templates as E2B writes them, "[namespace/]alias[:tag]", and ours.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::e2b {

// The template that a client means. A namespace is its own tenant, and drops out; of the tags there
// is only "default". kNotFound for another.
Result<std::string> template_name(std::string_view wanted);

}  // namespace glovebox::e2b
