// SPDX-License-Identifier: Apache-2.0
#include "sandbox/microvm/monitor.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/sys/write_all.h"

namespace glovebox::microvm {
namespace {

constexpr std::size_t kLongestLine = 64UL * 1024;

}  // namespace

bool Monitor::next_line() {
  std::size_t end = rest_.find('\n');
  while (end == std::string::npos) {
    std::array<char, 4096> bytes;
    const ssize_t got = ::read(socket_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0 || rest_.size() > kLongestLine) {
      return false;
    }
    const std::size_t before = rest_.size();
    rest_.append(bytes.data(), static_cast<std::size_t>(got));
    end = rest_.find('\n', before);
  }
  line_ = rest_.substr(0, end);
  rest_.erase(0, end + 1);
  return true;
}

bool Monitor::greet() { return next_line() && execute("qmp_capabilities"); }

bool Monitor::execute(std::string_view command, std::string_view arguments) {
  std::string text = R"({"execute": ")";
  text.append(command).append(R"(", "arguments": )").append(arguments).append("}\n");
  if (!sys::write_all(socket_.get(), text)) {
    return false;
  }
  while (next_line()) {
    if (line_.starts_with(R"({"return")")) {
      return true;
    }
    if (line_.starts_with(R"({"error")")) {
      errno = EPROTO;
      return false;
    }
  }
  return false;
}

std::optional<bool> Monitor::next_is(std::string_view event, std::string_view text) {
  if (!next_line()) {
    return std::nullopt;
  }
  const std::string name = R"("event": ")" + std::string(event) + '"';
  return line_.find(name) != std::string::npos && line_.find(text) != std::string::npos;
}

bool Monitor::await(std::string_view event, std::string_view text) {
  std::optional<bool> is = false;
  while (is && !*is) {
    is = next_is(event, text);
  }
  return is.has_value();
}

}  // namespace glovebox::microvm
