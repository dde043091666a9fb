// SPDX-License-Identifier: Apache-2.0
// Files of a checkout that tools act on without being asked.
#pragma once

#include <string_view>

namespace glovebox::cli {

enum class Caution {
  kNone,
  kPerson,  // Taken over only if a person has seen it.
  kNever,
};

// What [files.write] of the shipped policy `coding-agent` says about a path in a checkout: a person
// decides about the paths that it asks about.
Caution caution_about(std::string_view path);

}  // namespace glovebox::cli
