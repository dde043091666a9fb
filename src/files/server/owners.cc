// SPDX-License-Identifier: Apache-2.0
#include "files/server/owners.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "base/unique_fd.h"
#include "files/protocol.h"

namespace glovebox::files {
namespace {

constexpr std::size_t kMaxFile = 1U << 20;  // What lies beyond has numbers only.

std::string read_start(const char* path) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text(file ? 4096 : 0, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got <= 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
    if (size == text.size() && size < kMaxFile) {
      text.resize(size * 2);
    }
  }
  text.resize(size);
  return text;
}

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

}  // namespace

Owners::Owners() : users_(read("/etc/passwd")), groups_(read("/etc/group")) {}

std::string Owners::user(uid_t id) const { return name_of(users_, id); }
std::string Owners::group(gid_t id) const { return name_of(groups_, id); }

// Both files have the name first and the number third (passwd(5), group(5)).
Owners::Names Owners::read(const char* path) {
  const std::string text = read_start(path);
  Names names;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view name = take_until(line, ':');
    (void)take_until(line, ':');
    const std::string_view number = take_until(line, ':');
    std::uint32_t id = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), id);
    if (!number.empty() && parsed.ptr == number.data() + number.size() && !name.empty() &&
        name.size() <= kMaxName) {
      names.emplace(id, name);  // The first line counts.
    }
  }
  return names;
}

std::string Owners::name_of(const Names& names, std::uint32_t id) {
  const auto found = names.find(id);
  return found != names.end() ? found->second : std::to_string(id);
}

}  // namespace glovebox::files
