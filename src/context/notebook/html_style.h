// SPDX-License-Identifier: Apache-2.0
// The style sheet of exported notebooks.
#pragma once

#include <string_view>

namespace glovebox::notebook {

[[nodiscard]] std::string_view page_style();

}  // namespace glovebox::notebook
