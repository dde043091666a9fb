// SPDX-License-Identifier: Apache-2.0
#include "egress/credentials.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/base64.h"

namespace glovebox::egress {
namespace {

// Bytes of all headers of a request: about what servers accept.
constexpr std::size_t kMostHeaders = 96UL * 1024;
// A shorter value could be a word of the answer.
constexpr std::size_t kLeastHidden = 8;

bool is_for(const CredentialTarget& target, const Place& place, bool secure) {
  if (target.plain == secure || target.place.port != place.port) {
    return false;
  }
  // A guest that names an address has not named the host.
  return place.address ? target.place.name.empty() && target.place.block.contains(*place.address)
                       : concerns({target.place}, place.host, std::nullopt, place.port);
}

// The longer, the more specific; an exact name before all wildcards.
std::size_t specificity(const CredentialTarget& target) {
  constexpr std::size_t kExact = 1'000;
  return target.place.below ? target.place.name.size() : kExact;
}

bool equal(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
    return lower(a) == lower(b);
  });
}

// Nothing if it is not "Basic" followed by base64.
std::optional<std::string> basic_user(std::string_view value) {
  constexpr std::string_view kScheme = "basic ";
  if (value.size() <= kScheme.size() || !equal(value.substr(0, kScheme.size()), kScheme)) {
    return std::nullopt;
  }
  return from_base64(value.substr(kScheme.size()));
}

}  // namespace

bool CredentialFiller::reads_tls(const Place& place) const { return has_for(place, true); }

bool CredentialFiller::has_for(const Place& place, bool secure) const {
  const auto concerned = [&](const auto& one) { return is_for(one.target, place, secure); };
  return std::ranges::any_of(credentials_.substitutions, concerned) ||
         std::ranges::any_of(credentials_.settings, concerned);
}

Result<void> CredentialFiller::fill(http::Head& head, const Place& place, bool secure) const {
  drop_hop_by_hop(head);
  const auto replace = [&](std::string& text) {
    bool replaced = false;
    for (const Credentials::Substitution& one : credentials_.substitutions) {
      if (!is_for(one.target, place, secure)) {
        continue;
      }
      for (std::size_t at = text.find(one.placeholder); at != std::string::npos;
           at = text.find(one.placeholder, at + one.value.size())) {
        text.replace(at, one.placeholder.size(), one.value);
        replaced = true;
        if (text.size() > kMostHeaders) {
          return replaced;
        }
      }
    }
    return replaced;
  };
  std::size_t size = 0;
  for (auto& [name, value] : head.headers) {
    (void)replace(value);
    if (equal(name, "authorization")) {
      if (auto user = basic_user(value); user && replace(*user)) {
        value = "Basic " + to_base64(*user);
      }
    }
    size += name.size() + value.size();
    if (size > kMostHeaders) {
      return Error(ErrorCode::kExhausted, "the request's headers are too long");
    }
  }
  std::size_t most_specific = 0;
  for (const Credentials::Setting& one : credentials_.settings) {
    if (is_for(one.target, place, secure)) {
      most_specific = std::max(most_specific, specificity(one.target));
    }
  }
  for (const Credentials::Setting& one : credentials_.settings) {
    if (is_for(one.target, place, secure) && specificity(one.target) == most_specific) {
      std::erase_if(head.headers,
                    [&](const auto& header) { return equal(header.first, one.header); });
      head.headers.emplace_back(one.header, one.value);
    }
  }
  return {};
}

void CredentialFiller::hide(std::span<char> bytes, const Place& place, bool secure) const {
  const std::string_view text(bytes.data(), bytes.size());
  const auto cover = [&](std::string_view value) {
    for (std::size_t at = text.find(value);
         value.size() >= kLeastHidden && at != std::string_view::npos;
         at = text.find(value, at + value.size())) {
      std::ranges::fill(bytes.subspan(at, value.size()), '*');
    }
  };
  const auto cover_of = [&](const auto& one) {
    if (is_for(one.target, place, secure)) {
      cover(one.value);
      // "Bearer VALUE": a server that takes it apart may repeat only the end.
      cover(std::string_view(one.value).substr(one.value.rfind(' ') + 1));
    }
  };
  std::ranges::for_each(credentials_.substitutions, cover_of);
  std::ranges::for_each(credentials_.settings, cover_of);
}

}  // namespace glovebox::egress
