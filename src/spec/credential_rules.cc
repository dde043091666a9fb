// SPDX-License-Identifier: Apache-2.0
#include "spec/credential_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/random.h"
#include "base/text.h"

namespace glovebox {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;
constexpr std::string_view kPlain = "http://";
constexpr std::string_view kSecure = "https://";

// 160 random bits in letters and digits: nobody can guess one, and it passes as a token.
constexpr std::size_t kRandomBytes = 20;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lowered;
}

// Calls `literal` for text and `secret` for each name in braces.
template <typename Literal, typename Secret>
Result<void> walk(std::string_view value, Literal&& literal, Secret&& secret) {
  const auto wrong = [](std::string what) {
    return Error(ErrorCode::kInvalid, "header value: " + std::move(what),
                 "write {NAME} for a secret's value, and {{ or }} for a brace");
  };
  for (std::size_t at = 0; at < value.size();) {
    const char c = value[at];
    if (c != '{' && c != '}') {
      const std::size_t end = std::min(value.find_first_of("{}", at), value.size());
      literal(value.substr(at, end - at));
      at = end;
    } else if (value.substr(at + 1).starts_with(c)) {
      literal(value.substr(at, 1));
      at += 2;
    } else if (c == '}') {
      return wrong("'}' without '{'");
    } else {
      const std::size_t end = value.find_first_of("{}", at + 1);
      if (end == std::string_view::npos || value[end] == '{') {
        return wrong("'{' without '}'");
      }
      const std::string_view name = value.substr(at + 1, end - at - 1);
      if (name.empty() || name.size() > CredentialRules::kMaxSecretName) {
        return wrong("a secret's name has 1 to 128 bytes");
      }
      GB_TRY(secret(name));
      at = end + 1;
    }
  }
  return {};
}

template <typename Action>
void each_target(const CredentialRules& rules, Action&& action) {
  for (const PlaceholderRule& rule : rules.placeholders) {
    std::ranges::for_each(rule.targets, action);
  }
  for (const HeaderRule& rule : rules.headers) {
    action(rule.target);
  }
}

}  // namespace

Result<CredentialTarget> CredentialTarget::parse(std::string_view text) {
  CredentialTarget target;
  std::string_view place = text;
  target.plain = place.starts_with(kPlain);
  place.remove_prefix(target.plain                 ? kPlain.size()
                      : place.starts_with(kSecure) ? kSecure.size()
                                                   : 0);
  target.place = GB_TRY(NetworkRule::parse(place));
  const IpBlock& block = target.place.block;
  if (target.place.name.empty() && block.bits != block.address.width()) {
    return Error(
        ErrorCode::kInvalid,
        "credentials for '" + printable(text) + "': a block of addresses does not name a host",
        "name a host, *.HOST or one address");
  }
  if (!target.place.port) {
    target.place.port = target.plain ? kHttpPort : kHttpsPort;
  }
  return target;
}

std::string CredentialTarget::to_text() const {
  return (plain ? std::string(kPlain) : std::string()) + place.to_text();
}

bool is_placeholder(std::string_view text) {
  return text.size() >= 16 && text.size() <= 256 && std::ranges::all_of(text, [](char c) {
           return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
         });
}

bool is_variable_name(std::string_view text) {
  return !text.empty() && text.size() <= CredentialRules::kMaxSecretName && !is_digit(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

Result<void> check_header_name(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  if (name.empty() || name.size() > CredentialRules::kMaxHeaderName ||
      !std::ranges::all_of(name, [&](char c) {
        return is_letter(c) || is_digit(c) || kMarks.find(c) != std::string_view::npos;
      })) {
    return Error(ErrorCode::kInvalid,
                 "invalid header name '" + printable(name.substr(0, 200)) + "'",
                 "for example: Authorization");
  }
  constexpr std::array<std::string_view, 14> kOurs = {"connection",
                                                      "content-length",
                                                      "expect",
                                                      "host",
                                                      "keep-alive",
                                                      "proxy-authenticate",
                                                      "proxy-connection",
                                                      "te",
                                                      "proxy-authorization",
                                                      "trailer",
                                                      "upgrade",
                                                      "transfer-encoding",
                                                      "sec-websocket-key",
                                                      "http2-settings"};
  if (std::ranges::find(kOurs, lower(name)) != kOurs.end()) {
    return Error(ErrorCode::kInvalid,
                 "header '" + std::string(name) + "' says how a request is sent, not who sends it",
                 "set a header such as Authorization or X-API-Key");
  }
  return {};
}

Result<void> check_header_value(std::string_view value) {
  const auto wrong = [](const char* what) {
    return Error(ErrorCode::kInvalid, std::string("a header cannot carry this value: ") + what);
  };
  if (value.empty()) {
    return wrong("it is empty");
  }
  if (value.size() > CredentialRules::kMaxHeaderValue) {
    return wrong("it has more than 8192 bytes");
  }
  if (value.front() == ' ' || value.back() == ' ') {
    return wrong("it has a space at its beginning or end");
  }
  const bool printable_only = std::ranges::all_of(value, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7f;
  });
  return printable_only ? Result<void>()
                        : wrong("it has a control character, such as a line break");
}

Result<std::vector<std::string>> secrets_in(std::string_view value) {
  std::vector<std::string> names;
  GB_TRY(walk(
      value, [](std::string_view) {},
      [&](std::string_view name) -> Result<void> {
        names.emplace_back(name);
        return {};
      }));
  return names;
}

Result<std::string> fill_in(std::string_view value, const SecretValues& secrets) {
  std::string filled;
  GB_TRY(walk(
      value, [&](std::string_view text) { filled += text; },
      [&](std::string_view name) -> Result<void> {
        const auto found = secrets.find(name);
        if (found == secrets.end()) {
          return Error(ErrorCode::kNotFound, "no secret '" + printable(name) + "'");
        }
        filled += found->second;
        return {};
      }));
  GB_TRY(check_header_value(filled));
  return filled;
}

std::vector<std::string> secrets_of(const CredentialRules& rules) {
  std::vector<std::string> names;
  for (const PlaceholderRule& rule : rules.placeholders) {
    names.push_back(rule.secret);
  }
  for (const HeaderRule& rule : rules.headers) {
    if (const auto used = secrets_in(rule.value)) {
      names.insert(names.end(), used->begin(), used->end());
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void keep_rules_with(const SecretValues& secrets, CredentialRules& rules) {
  const auto is_missing = [&](const std::string& name) { return !secrets.contains(name); };
  std::erase_if(rules.placeholders,
                [&](const PlaceholderRule& rule) { return is_missing(rule.secret); });
  std::erase_if(rules.headers, [&](const HeaderRule& rule) {
    const auto names = secrets_in(rule.value);
    return !names || std::ranges::any_of(*names, is_missing);
  });
}

std::vector<NetworkRule> places_of(const CredentialRules& rules) {
  std::vector<NetworkRule> places;
  each_target(rules, [&](const CredentialTarget& target) {
    if (std::ranges::find(places, target.place) == places.end()) {
      places.push_back(target.place);
    }
  });
  return places;
}

bool needs_authority(const CredentialRules& rules) {
  bool needed = false;
  each_target(rules, [&](const CredentialTarget& target) { needed = needed || !target.plain; });
  return needed;
}

Result<void> choose_placeholders(CredentialRules& rules, const CredentialRules& before) {
  for (PlaceholderRule& rule : rules.placeholders) {
    const auto same = std::ranges::find_if(before.placeholders, [&](const PlaceholderRule& old) {
      return old.variable == rule.variable && old.secret == rule.secret;
    });
    if (rule.placeholder.empty()) {
      const bool kept = same != before.placeholders.end() && !same->placeholder.empty();
      rule.placeholder = kept ? same->placeholder : "placeholder_" + random_hex(kRandomBytes);
    }
  }
  return {};
}

}  // namespace glovebox
