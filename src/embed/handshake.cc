// SPDX-License-Identifier: Apache-2.0
#include "embed/handshake.h"

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <span>
#include <utility>
#include <vector>

#include "base/sys/descriptors.h"

namespace glovebox::embed {
namespace {

constexpr std::string_view kServes = "serves";
constexpr std::string_view kFailed = "failed";
constexpr int kLastCode = static_cast<int>(ErrorCode::kInternal);
constexpr std::size_t kLongestText = 4'096;  // Of a message and of a hint.

// Takes the part before the next NUL, and the NUL, off `text`.
std::string_view take_part(std::string_view& text) {
  const std::size_t end = std::min(text.find('\0'), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

std::string outcome_packet(const std::optional<Error>& failure) {
  if (!failure) {
    return std::string(kServes);
  }
  std::string packet(kFailed);
  const std::string code = std::to_string(static_cast<int>(failure->code()));
  for (const std::string_view part :
       {std::string_view(code), std::string_view(failure->message()).substr(0, kLongestText),
        std::string_view(failure->hint()).substr(0, kLongestText)}) {
    packet += '\0';
    packet += part;
  }
  return packet;
}

Result<void> read_outcome(std::string_view packet) {
  const std::string_view kind = take_part(packet);
  if (kind == kServes) {
    return {};
  }
  const std::string_view digits = take_part(packet);
  int code = -1;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), code);
  if (kind != kFailed || code < 0 || code > kLastCode) {
    return Error(ErrorCode::kInternal, "the engine's first packet has an unknown form",
                 "use a library and programs of the same version");
  }
  const std::string_view message = take_part(packet);
  const std::string_view hint = take_part(packet);
  return Error(static_cast<ErrorCode>(code), std::string(message), std::string(hint));
}

Result<void> send_packet(int socket, std::string_view packet, int descriptor) {
  const std::array<int, 1> one{descriptor};
  const std::span<const int> passed(one.data(), descriptor >= 0 ? 1 : 0);
  ssize_t sent = 0;
  do {
    sent = sys::send_with(socket, packet, passed, 0);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) {
    return Error::from_errno("send a packet");
  }
  return {};
}

Result<Packet> receive_packet(int socket) {
  std::string text(kLongestPacket, '\0');
  std::vector<UniqueFd> passed;
  ssize_t size = 0;
  do {
    size = sys::receive_with(socket, text, passed, 0);
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    const int error = errno;
    return Error::from_errno("receive a packet", error).with_os_error(error);
  }
  if (size == 0) {  // Nobody sends an empty one.
    return Error(ErrorCode::kUnavailable, "the other side has ended");
  }
  text.resize(static_cast<std::size_t>(size));
  return Packet{.text = std::move(text),
                .descriptor = passed.empty() ? UniqueFd() : std::move(passed.front())};
}

}  // namespace glovebox::embed
