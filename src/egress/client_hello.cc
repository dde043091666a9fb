// SPDX-License-Identifier: Apache-2.0
#include "egress/client_hello.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace glovebox::egress {
namespace {

using State = ClientHello::State;

constexpr std::uint8_t kHandshake = 22;
constexpr std::uint8_t kMajor = 3;
constexpr std::size_t kRecordHead = 5;
constexpr std::size_t kMostRecord = 1UL << 14U;
constexpr std::uint8_t kHello = 1;
constexpr std::size_t kMessageHead = 4;
constexpr std::size_t kMostMessage = 1UL << 16U;
constexpr std::size_t kRandom = 32;
constexpr std::size_t kServerName = 0;  // The extension, and the kind of name in it.

// Takes pieces off the front. If too few bytes are left, `ok` becomes false, for good.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t count) {
    if (!ok_ || rest_.size() < count) {
      ok_ = false;
      return {};
    }
    const std::string_view piece = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return piece;
  }
  std::size_t number(std::size_t width) {
    std::size_t value = 0;
    for (const char byte : take(width)) {
      value = (value << 8U) | static_cast<std::uint8_t>(byte);
    }
    return value;
  }
  // A piece that is preceded by its length.
  std::string_view sized(std::size_t width) { return take(number(width)); }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Joined {
  State state = State::kPartial;
  std::string bytes{};  // After its head.
};

// The first message, out of the records that it is spread over.
Joined join_records(std::string_view bytes) {
  std::string joined;
  while (!bytes.empty()) {
    if (static_cast<std::uint8_t>(bytes[0]) != kHandshake ||
        (bytes.size() > 1 && static_cast<std::uint8_t>(bytes[1]) != kMajor)) {
      return {.state = State::kBroken};
    }
    if (bytes.size() < kRecordHead) {
      break;
    }
    const std::size_t length = Reader(bytes.substr(3)).number(2);
    if (length == 0 || length > kMostRecord) {
      return {.state = State::kBroken};
    }
    const std::string_view piece = bytes.substr(kRecordHead, length);
    joined += piece;
    if (!joined.empty() && static_cast<std::uint8_t>(joined[0]) != kHello) {
      return {.state = State::kBroken};
    }
    if (joined.size() >= kMessageHead) {
      const std::size_t size = Reader(std::string_view(joined).substr(1)).number(3);
      if (size > kMostMessage) {
        return {.state = State::kBroken};
      }
      if (joined.size() >= kMessageHead + size) {
        return {.state = State::kWhole, .bytes = joined.substr(kMessageHead, size)};
      }
    }
    bytes.remove_prefix(kRecordHead + piece.size());
    if (piece.size() < length) {
      break;
    }
  }
  return {};
}

// Nothing if the extension is not as it must be: one name of the only kind there is.
std::optional<std::string> read_server_name(std::string_view extension) {
  Reader outer(extension);
  Reader list(outer.sized(2));
  const std::size_t kind = list.number(1);
  const std::string_view name = list.sized(2);
  if (!outer.ok() || !outer.done() || !list.ok() || !list.done() || kind != kServerName ||
      name.empty()) {
    return std::nullopt;
  }
  std::string lowered;
  for (const char c : name) {
    lowered += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return lowered;
}

}  // namespace

ClientHello read_client_hello(std::string_view bytes) {
  if (bytes.empty()) {
    return {.state = State::kPartial};
  }
  if (static_cast<std::uint8_t>(bytes[0]) != kHandshake ||
      (bytes.size() > 1 && static_cast<std::uint8_t>(bytes[1]) != kMajor)) {
    return {.state = State::kNone};
  }
  const Joined message = join_records(bytes);
  if (message.state != State::kWhole) {
    return {.state = message.state};
  }
  Reader hello(message.bytes);
  (void)hello.take(2 + kRandom);
  (void)hello.sized(1);  // Session.
  (void)hello.sized(2);  // Ciphers.
  (void)hello.sized(1);  // Compression.
  ClientHello read{.state = State::kWhole};
  // Extensions may be absent (RFC 5246, 7.4.1.2).
  Reader extensions(hello.done() ? std::string_view() : hello.sized(2));
  while (hello.ok() && extensions.ok() && !extensions.done()) {
    const std::size_t type = extensions.number(2);
    const std::string_view extension = extensions.sized(2);
    if (extensions.ok() && type == kServerName) {
      const auto name = read_server_name(extension);
      if (!name || !read.host.empty()) {
        return {.state = State::kBroken};
      }
      read.host = *name;
    }
  }
  return hello.ok() && hello.done() && extensions.ok() ? read
                                                       : ClientHello{.state = State::kBroken};
}

}  // namespace glovebox::egress
