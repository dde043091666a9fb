// SPDX-License-Identifier: Apache-2.0
#include "service/local/kinds.h"

#include <algorithm>
#include <array>

#include "spec/guest.h"

namespace glovebox {
namespace {

constexpr std::array<std::string_view, 3> kE2bNames = {"base", "code-interpreter",
                                                       "code-interpreter-v1"};

}  // namespace

std::optional<Kind> find_kind(std::string_view template_name) {
  if (template_name == "default") {
    return Kind{.home = std::string(kWorkspace), .user = "guest"};
  }
  if (std::ranges::find(kE2bNames, template_name) != kE2bNames.end()) {
    return Kind{.home = "/home/user", .user = "user"};
  }
  return std::nullopt;
}

std::string_view pool_name(std::string_view home) {
  return home == kWorkspace ? "default" : "code-interpreter";
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names{"default"};
  names.insert(names.end(), kE2bNames.begin(), kE2bNames.end());
  return names;
}

}  // namespace glovebox
