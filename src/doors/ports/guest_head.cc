// SPDX-License-Identifier: Apache-2.0
#include "doors/ports/guest_head.h"

#include <algorithm>
#include <array>
#include <vector>

#include "doors/transport/head.h"
#include "doors/transport/status.h"

namespace glovebox::ports {
namespace {

// The body's own framing goes on to the guest: Content-Length and Transfer-Encoding stay.
constexpr std::array<std::string_view, 9> kOfTheConnection{"connection",
                                                           "keep-alive",
                                                           "proxy-connection",
                                                           "proxy-authorization",
                                                           "proxy-authenticate",
                                                           "te",
                                                           "trailer",
                                                           "upgrade",
                                                           "expect"};
constexpr std::array<std::string_view, 6> kOurs{"x-api-key",      "x-port-token",
                                                "x-access-token", "e2b-traffic-access-token",
                                                "e2b-sandbox-id", "e2b-sandbox-port"};

template <typename Names>
bool is_any(std::string_view name, const Names& names) {
  return std::ranges::any_of(
      names, [name](std::string_view each) { return http::equal_names(name, each); });
}

// The headers that the client says are for us alone. It cannot hide the body's framing this way.
std::vector<std::string_view> named_by_connection(const http::Request& request) {
  constexpr std::array<std::string_view, 3> kStay{"host", "content-length", "transfer-encoding"};
  std::vector<std::string_view> names;
  for (const auto& [name, value] : request.headers()) {
    if (http::equal_names(name, "connection")) {
      split(value, ',', [&](std::string_view part) {
        if (!is_any(part, kStay)) {
          names.push_back(part);
        }
      });
    }
  }
  return names;
}

std::string without_our_cookie(std::string_view cookies) {
  std::string kept;
  split(cookies, ';', [&](std::string_view part) {
    const std::string_view name = part.substr(0, part.find('='));
    if (name != kCookie && name != kSecureCookie && !part.empty()) {
      kept += (kept.empty() ? "" : "; ") + std::string(part);
    }
  });
  return kept;
}

}  // namespace

bool holds_key(std::string_view text) {
  constexpr std::string_view kBegin = "e2b_";
  constexpr std::size_t kDigits = 64;
  const auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
  };
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at + 1)) {
    const std::string_view digits = text.substr(at + kBegin.size(), kDigits);
    if (digits.size() == kDigits && std::ranges::all_of(digits, is_digit)) {
      return true;
    }
  }
  return false;
}

std::string guest_head(const http::Request& request,
                       std::string_view target,
                       const std::optional<std::string>& host) {
  const std::vector<std::string_view> named = named_by_connection(request);
  std::string head = std::string(request.method()) + " " + std::string(target) + " HTTP/1.1\r\n";
  if (host) {
    head += "Host: " + *host + "\r\n";
  }
  for (const auto& [name, value] : request.headers()) {
    if (is_any(name, kOfTheConnection) || is_any(name, kOurs) || is_any(name, named) ||
        holds_key(value) || (host && http::equal_names(name, "host"))) {
      continue;
    }
    const bool cookies = http::equal_names(name, "cookie");
    const std::string kept = cookies ? without_our_cookie(value) : value;
    if (!cookies || !kept.empty()) {
      head += name + ": " + kept + "\r\n";
    }
  }
  const auto wanted = request.header("upgrade");
  if (wanted && !holds_key(*wanted) &&
      http::has_token(request.headers(), "connection", "upgrade")) {
    return head + "Connection: Upgrade\r\nUpgrade: " + std::string(*wanted) + "\r\n\r\n";
  }
  return head + "Connection: close\r\n\r\n";
}

}  // namespace glovebox::ports
