// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/occupant.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/text.h"

namespace glovebox::http {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestCommand = 200;

// "socket:[INODE]" of each socket that listens on the port, as links in /proc/PID/fd have it.
std::set<std::string> sockets_of(std::uint16_t port) {
  constexpr std::string_view kListens = "0A";
  std::set<std::string> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      // sl local rem st tx:rx tr:tm retrnsmt uid timeout inode
      std::istringstream words(line);
      std::string skipped;
      std::string local;
      std::string state;
      std::string inode;
      words >> skipped >> local >> skipped >> state;
      words >> skipped >> skipped >> skipped >> skipped >> skipped >> inode;
      std::uint32_t number = 0;
      const std::size_t colon = std::min(local.rfind(':'), local.size() - 1);
      (void)std::from_chars(local.data() + colon + 1, local.data() + local.size(), number, 16);
      if (words && state == kListens && number == port) {
        sockets.insert("socket:[" + inode + "]");
      }
    }
  }
  return sockets;
}

bool has_one_of(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code failure;
  for (fs::directory_iterator each(process / "fd", failure), end; !failure && each != end;
       each.increment(failure)) {
    std::error_code gone;
    if (sockets.contains(fs::read_symlink(each->path(), gone).string())) {
      return true;
    }
  }
  return false;
}

std::string command_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline");
  std::string command(kLongestCommand, '\0');
  file.read(command.data(), static_cast<std::streamsize>(command.size()));
  command.resize(static_cast<std::size_t>(file.gcount()));
  while (command.ends_with('\0')) {
    command.pop_back();
  }
  std::ranges::replace(command, '\0', ' ');
  return printable(to_utf8(command));
}

}  // namespace

std::optional<pid_t> listener_of_port(std::uint16_t port) {
  const std::set<std::string> sockets = sockets_of(port);
  std::error_code failure;
  for (fs::directory_iterator each("/proc", failure), end; !failure && each != end;
       each.increment(failure)) {
    const std::string name = each->path().filename().string();
    pid_t pid = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && rest == name.data() + name.size() && !sockets.empty() &&
        has_one_of(each->path(), sockets)) {
      return pid;
    }
  }
  return std::nullopt;
}

std::string occupied_hint(std::optional<pid_t> process) {
  const std::string choose = "choose another address";
  const std::string command = process ? command_of(*process) : std::string();
  if (command.empty()) {
    return "another program is listening there; " + choose;
  }
  const bool ours =
      command.find("glovebox") != std::string::npos && command.find(" serve") != std::string::npos;
  return std::string(ours ? "a glovebox daemon" : "another program") +
         " is listening there: process " + std::to_string(*process) + " (" + command + "); " +
         (ours ? "stop it, or " : "") + choose;
}

}  // namespace glovebox::http
