// SPDX-License-Identifier: Apache-2.0
#include "egress/names.h"

#include <string_view>

#include "spec/network_rules.h"

namespace glovebox::egress {
namespace {

using Bytes = std::vector<std::uint8_t>;

// 198.18.0.1 and the addresses after it.
constexpr std::uint32_t kFirst = (198U << 24U) | (18U << 16U) | 1U;

// RFC 1035, 4.1.1 and 3.2.
constexpr std::size_t kHead = 12;
constexpr std::size_t kMostName = 255;
constexpr std::uint16_t kTypeA = 1;
constexpr std::uint16_t kClassInternet = 1;
enum class Code : std::uint8_t { kNone = 0, kFormat = 1, kServer = 2, kNoName = 3, kNot = 4 };

// Not longer, because a proxy with other rules may replace this one.
constexpr std::uint32_t kSeconds = 60;

// FNV-1a.
std::uint32_t hash(std::string_view text) {
  std::uint32_t value = 2'166'136'261U;
  for (const char c : text) {
    value = (value ^ static_cast<std::uint8_t>(c)) * 16'777'619U;
  }
  return value;
}

std::uint16_t number(std::span<const std::uint8_t> bytes, std::size_t at) {
  return static_cast<std::uint16_t>((bytes[at] << 8U) | bytes[at + 1]);
}

void put16(Bytes& bytes, std::size_t value) {
  bytes.push_back(static_cast<std::uint8_t>(value >> 8U));
  bytes.push_back(static_cast<std::uint8_t>(value));
}

struct Question {
  std::string name;     // In lower case, without the dot of the root.
  std::size_t end = 0;  // After its type and class.
  std::uint16_t type = 0;
  std::uint16_t kind = 0;
};

std::optional<Question> read_question(std::span<const std::uint8_t> bytes) {
  Question question;
  std::size_t at = kHead;
  for (;;) {
    if (at >= bytes.size()) {
      return std::nullopt;
    }
    const std::size_t length = bytes[at++];
    if (length == 0) {
      break;
    }
    // Two bits say that the name continues elsewhere: no question needs that.
    if (length > 63 || at + length > bytes.size() || at + length - kHead > kMostName) {
      return std::nullopt;
    }
    if (!question.name.empty()) {
      question.name += '.';
    }
    for (const std::uint8_t byte : bytes.subspan(at, length)) {
      const bool upper = byte >= 'A' && byte <= 'Z';
      // A dot within a label is not a host name, and must not look like two labels.
      question.name += byte == '.' ? '\0' : static_cast<char>(upper ? byte - 'A' + 'a' : byte);
    }
    at += length;
  }
  if (at + 4 > bytes.size()) {
    return std::nullopt;
  }
  question.type = number(bytes, at);
  question.kind = number(bytes, at + 2);
  question.end = at + 4;
  return question;
}

// The head of an answer, and the question again.
Bytes begin(std::span<const std::uint8_t> asked, std::size_t end, Code code, bool has_answer) {
  Bytes bytes(asked.begin(), asked.begin() + 2);
  constexpr unsigned kAnswer = 0x80;
  constexpr unsigned kWanted = 0x01;  // Recursion, as it was asked for; and it is available.
  constexpr unsigned kAvailable = 0x80;
  bytes.push_back(static_cast<std::uint8_t>(kAnswer | (asked[2] & (0x78U | kWanted))));
  bytes.push_back(static_cast<std::uint8_t>(kAvailable | static_cast<unsigned>(code)));
  put16(bytes, end > kHead ? 1 : 0);
  put16(bytes, has_answer ? 1 : 0);
  put16(bytes, 0);
  put16(bytes, 0);
  bytes.insert(bytes.end(), asked.begin() + kHead,
               asked.begin() + static_cast<std::ptrdiff_t>(end));
  return bytes;
}

}  // namespace

std::optional<IpAddress> Names::address_of(const std::string& name) {
  std::uint32_t place = hash(name) % kBlock;
  auto found = names_.find(place);
  while (found != names_.end() && found->second != name) {
    place = (place + 1) % kBlock;
    found = names_.find(place);
  }
  if (found == names_.end()) {
    if (names_.size() == kMost) {
      return std::nullopt;
    }
    names_.emplace(place, name);
  }
  const std::uint32_t value = kFirst + place;
  IpAddress address;
  address.v4 = true;
  for (std::size_t i = 0; i < 4; ++i) {
    address.bytes[i] = static_cast<std::uint8_t>(value >> (8 * (3 - i)));
  }
  return address;
}

std::optional<std::string> Names::name_of(const IpAddress& address) const {
  if (!address.v4) {
    return std::nullopt;
  }
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = (value << 8U) | address.bytes[i];
  }
  const auto found = names_.find(value - kFirst);
  return found == names_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Bytes> Names::answer(std::span<const std::uint8_t> asked) {
  if (asked.size() < kHead || (asked[2] & 0x80U) != 0) {
    return std::nullopt;
  }
  if ((asked[2] & 0x78U) != 0) {
    return begin(asked, kHead, Code::kNot, false);
  }
  const auto question = number(asked, 4) == 1 ? read_question(asked) : std::nullopt;
  if (!question) {
    return begin(asked, kHead, Code::kFormat, false);
  }
  if (question->kind != kClassInternet || !is_host_name(question->name)) {
    return begin(asked, question->end, Code::kNoName, false);
  }
  if (question->type != kTypeA) {
    return begin(asked, question->end, Code::kNone, false);
  }
  const auto address = address_of(question->name);
  if (!address) {
    return begin(asked, question->end, Code::kServer, false);
  }
  Bytes bytes = begin(asked, question->end, Code::kNone, true);
  constexpr std::uint16_t kSameName = 0xC000 | kHead;  // A reference to the question's.
  put16(bytes, kSameName);
  put16(bytes, kTypeA);
  put16(bytes, kClassInternet);
  put16(bytes, kSeconds >> 16U);
  put16(bytes, kSeconds);
  put16(bytes, 4);
  bytes.insert(bytes.end(), address->bytes.begin(), address->bytes.begin() + 4);
  return bytes;
}

}  // namespace glovebox::egress
