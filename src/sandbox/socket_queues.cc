// SPDX-License-Identifier: Apache-2.0
#include "sandbox/socket_queues.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox {
namespace {

// A connection that no descriptor leads to, and the rest of one that is over: about what each takes
// on Linux 6.18.
constexpr std::uint64_t kConnection = 4096;
constexpr std::uint64_t kTimeWait = 256;

constexpr std::string_view kTcpTimeWait = "06";

// The columns of /proc/net/netlink and /proc/net/tcp that count here.
constexpr std::size_t kNetlinkUnread = 4;
constexpr std::size_t kTcpState = 3;
constexpr std::size_t kTcpQueues = 4;
constexpr std::size_t kTcpInode = 9;
constexpr std::size_t kMostFields = 12;

std::uint64_t to_number(std::string_view text, int base) {
  std::uint64_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

using Fields = std::array<std::string_view, kMostFields>;

// The words of a line; missing ones are empty.
Fields fields_of(std::string_view line) {
  Fields fields;
  for (std::string_view& field : fields) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    field = line.substr(0, line.find(' '));
    line.remove_prefix(field.size());
  }
  return fields;
}

// Hands each line of a file but the first to `take`, until that returns false.
template <typename Take>
void each_line(const std::string& path, Take take) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<char> text(64 << 10);
  std::size_t kept = 0;
  bool is_title = true;
  for (;;) {
    const ssize_t got = fd ? ::read(fd.get(), text.data() + kept, text.size() - kept) : 0;
    if (got <= 0) {
      return;
    }
    std::string_view left(text.data(), kept + static_cast<std::size_t>(got));
    for (std::size_t end = left.find('\n'); end != std::string_view::npos; end = left.find('\n')) {
      if (!std::exchange(is_title, false) && !take(fields_of(left.substr(0, end)))) {
        return;
      }
      left.remove_prefix(end + 1);
    }
    // No line of these files is nearly as long as the buffer.
    kept = left.size() < text.size() ? left.size() : 0;
    std::copy_n(left.data(), kept, text.data());
  }
}

std::uint64_t waiting_in_tcp(const Fields& fields) {
  if (fields[kTcpInode] != "0") {
    return 0;  // A descriptor leads to it: charged, at least for the most part.
  }
  if (fields[kTcpState] == kTcpTimeWait) {
    return kTimeWait;
  }
  const std::string_view queues = fields[kTcpQueues];  // Unsent:unread.
  const std::size_t colon = queues.find(':');
  if (colon == std::string_view::npos) {
    return kConnection;
  }
  return kConnection + to_number(queues.substr(0, colon), 16) +
         to_number(queues.substr(colon + 1), 16);
}

// The number of its network namespace; zero if it cannot be seen.
ino_t network_of(const std::string& process) {
  struct stat status {};
  return ::stat((process + "/ns/net").c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

std::uint64_t queued_in_sockets(std::span<const pid_t> pids,
                                std::uint64_t enough,
                                const std::function<bool()>& late) {
  std::uint64_t bytes = 0;
  const auto add = [&](std::uint64_t more) {
    bytes += more;
    return bytes <= enough && !late();
  };
  std::vector<ino_t> counted = {0, network_of("/proc/self")};
  for (const pid_t pid : pids) {
    const std::string process = "/proc/" + std::to_string(pid);
    const ino_t network = pid > 0 ? network_of(process) : 0;
    if (std::ranges::find(counted, network) != counted.end()) {
      continue;
    }
    counted.push_back(network);
    each_line(process + "/net/netlink",
              [&](const Fields& fields) { return add(to_number(fields[kNetlinkUnread], 10)); });
    for (const char* table : {"/net/tcp", "/net/tcp6"}) {
      if (bytes <= enough && !late()) {
        each_line(process + table,
                  [&](const Fields& fields) { return add(waiting_in_tcp(fields)); });
      }
    }
    if (bytes > enough || late()) {
      break;
    }
  }
  return bytes;
}

}  // namespace glovebox
