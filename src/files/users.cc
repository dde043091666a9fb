// SPDX-License-Identifier: Apache-2.0
#include "files/users.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace glovebox::files {
namespace {

constexpr std::size_t kMaxLine = 64UL << 10;
constexpr std::size_t kMaxUserName = 256;
constexpr std::size_t kMostGroups = 64;

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  // The last number means "no id" in system calls.
  const bool whole = failure == std::errc{} && end == text.data() + text.size();
  return whole && value != ~0U ? std::optional(value) : std::nullopt;
}

using Fields = std::array<std::string_view, 7>;  // As many as passwd(5) has.

// Calls `take` with the fields of each line that has at least `count`, until it returns true.
template <typename Take>
void each_line(std::string_view text, std::size_t count, const Take& take) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    Fields fields;
    std::size_t found = 0;
    if (line.size() > kMaxLine || line.find('\0') != std::string_view::npos) {
      continue;
    }
    for (bool more = true; more && found < fields.size(); ++found) {
      const std::size_t colon = line.find(':');
      more = colon != std::string_view::npos;
      fields[found] = line.substr(0, colon);
      line.remove_prefix(more ? colon + 1 : line.size());
    }
    if (found >= count && take(fields)) {
      return;
    }
  }
}

std::optional<gid_t> find_group(std::string_view wanted, std::string_view group) {
  std::optional<gid_t> id;
  each_line(group, 3, [&](const Fields& fields) {
    if (fields[0] == wanted) {
      id = number(fields[2]);
    }
    return id.has_value();
  });
  return id ? id : number(wanted);
}

bool lists(std::string_view members, std::string_view name) {
  while (!members.empty()) {
    const std::string_view each = members.substr(0, members.find(','));
    if (each == name) {
      return true;
    }
    members.remove_prefix(std::min(members.size(), each.size() + 1));
  }
  return false;
}

void add_groups(User& user, std::string_view group) {
  user.groups = {user.gid};
  each_line(group, 4, [&user](const Fields& fields) {
    const auto id = number(fields[2]);
    if (id && lists(fields[3], user.name) &&
        std::ranges::find(user.groups, *id) == user.groups.end()) {
      user.groups.push_back(*id);
    }
    return user.groups.size() == kMostGroups;
  });
}

}  // namespace

Result<User> find_user(std::string_view wanted, std::string_view passwd, std::string_view group) {
  const std::size_t colon = wanted.find(':');
  const std::string_view name = wanted.substr(0, colon);
  if (wanted.size() > kMaxUserName || name.empty() || name.find('\0') != std::string_view::npos) {
    return Error(ErrorCode::kInvalid, "invalid user name");
  }
  const auto id = number(name);
  std::optional<User> user;
  each_line(passwd, 6, [&](const Fields& fields) {
    const auto uid = number(fields[2]);
    const auto gid = number(fields[3]);
    if (uid && gid && (fields[0] == name || (id && uid == id))) {
      user = {.uid = *uid,
              .gid = *gid,
              .groups = {},
              .name = std::string(fields[0].substr(0, kMaxUserName)),
              .home = std::string(fields[5])};
    }
    return user.has_value();
  });
  if (!user && !id) {
    return Error(ErrorCode::kNotFound, "no user '" + std::string(name) + "' in /etc/passwd");
  }
  if (!user) {
    user = User{.uid = *id, .gid = 0, .groups = {}, .name = {}, .home = {}};
  }
  add_groups(*user, group);
  if (colon != std::string_view::npos) {
    const std::string_view group_name = wanted.substr(colon + 1);
    const auto gid = find_group(group_name, group);
    if (!gid) {
      return Error(ErrorCode::kNotFound,
                   "no group '" + std::string(group_name) + "' in /etc/group");
    }
    user->gid = *gid;
    user->groups = {*gid};
  }
  return *std::move(user);
}

}  // namespace glovebox::files
