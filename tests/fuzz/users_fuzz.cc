// SPDX-License-Identifier: Apache-2.0
// find_user(): whatever passwd and group say, a user that is found has usable ids, the ids of a
// number are that number, and the groups are bounded and begin with the user's own.
#include "files/users.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.h"

namespace {

constexpr char kSeparator = '\x1e';

std::string_view next(std::string_view& input) {
  const std::string_view part = input.substr(0, input.find(kSeparator));
  input.remove_prefix(std::min(input.size(), part.size() + 1));
  return part;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view wanted = next(input);
  const std::string_view passwd = next(input);
  const auto user = glovebox::files::find_user(wanted, passwd, input);
  if (!user) {
    return 0;
  }
  require(user->uid != ~0U && user->gid != ~0U);
  require(!user->groups.empty() && user->groups.size() <= 64 && user->groups.front() == user->gid);
  require(user->name.size() <= 256 && user->name.find('\0') == std::string::npos);
  require(user->home.find('\0') == std::string::npos);
  const std::string_view name = wanted.substr(0, wanted.find(':'));
  const bool is_number = name.find_first_not_of("0123456789") == std::string_view::npos;
  // A name that is a number may also be the name of somebody.
  require(!is_number || user->name == name || std::stoull(std::string(name)) == user->uid);
  return 0;
}
