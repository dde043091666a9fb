// SPDX-License-Identifier: Apache-2.0
// Files of a checkout that tools act on without being asked.
#pragma once

#include <string_view>

namespace glovebox::cli {

enum class Caution {
  kNone,
  kPerson,  // Taken over only where a person has seen it.
  kNever,
};

// What [files.write] of the shipped policy `coding-agent` says of a path in a checkout: of what it
// asks about, a person decides.
Caution caution_about(std::string_view path);

}  // namespace glovebox::cli
