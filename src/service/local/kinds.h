// SPDX-License-Identifier: Apache-2.0
// The templates that are always there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox {

struct Kind {
  std::string home;  // Where the workspace is,
  std::string user;  // and what the guest is called there.
};

// "default", and those that E2B's programs name: theirs live in /home/user.
std::optional<Kind> find_kind(std::string_view template_name);
std::vector<std::string> kind_names();

// The one of those names that represents all kinds with this `home`: they share what is made ahead.
std::string_view pool_name(std::string_view home);

}  // namespace glovebox
