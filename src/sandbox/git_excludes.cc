// SPDX-License-Identifier: Apache-2.0
#include "sandbox/git_excludes.h"

#include "sandbox/spec.h"

namespace glovebox {

std::string git_excludes(const PlaceRules& read) {
  std::string text;
  for (const std::string& place : read.closed) {
    text += '/';
    for (const char c : place) {
      // A blank at the end, or a wildcard, would mean something else.
      if (c == '\\' || c == ' ' || c == '*' || c == '?' || c == '[') {
        text += '\\';
      }
      text += c;
    }
    text += '\n';
  }
  return text;
}

Environment git_excludes_environment() {
  return {{"GIT_CONFIG_COUNT", "1"},
          {"GIT_CONFIG_KEY_0", "core.excludesFile"},
          {"GIT_CONFIG_VALUE_0", std::string(SandboxSpec::kOwnFiles) + "/" + kGitExcludes}};
}

}  // namespace glovebox
