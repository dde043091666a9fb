// SPDX-License-Identifier: Apache-2.0
// CredentialRules: what requests of a sandbox carry that the sandbox itself never holds. They name
// secrets and have no values; SecretValues has those. glovebox-egress (src/egress) fills them in.
//
// Values: any thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/network_rule.h"

namespace glovebox {

// Where a credential may be sent:
//   api.example.com            HTTPS, port 443
//   *.example.com:8443         HTTPS, the names below example.com, that port
//   http://192.0.2.7:8080      without encryption, which must be asked for
// A block of addresses is not a target. https:// in front makes no difference.
struct CredentialTarget {
  NetworkRule place{};  // With a port.
  bool plain = false;   // HTTP without TLS.

  // kInvalid, with the text and a hint.
  static Result<CredentialTarget> parse(std::string_view text);
  [[nodiscard]] std::string to_text() const;

  friend bool operator==(const CredentialTarget&, const CredentialTarget&) = default;
};

// A guest finds `placeholder` in its environment. In the headers of its requests to `targets`, the
// secret's value takes the placeholder's place.
struct PlaceholderRule {
  std::string variable{};
  std::string secret{};
  std::string placeholder{};  // Empty: not chosen yet.
  std::vector<CredentialTarget> targets{};

  friend bool operator==(const PlaceholderRule&, const PlaceholderRule&) = default;
};

// Requests to `target` get this header, in place of any that they have of that name.
struct HeaderRule {
  CredentialTarget target{};
  std::string name{};
  // "Bearer {SECRET}": a name in braces stands for that secret's value, {{ and }} for braces.
  std::string value{};

  friend bool operator==(const HeaderRule&, const HeaderRule&) = default;
};

struct CredentialRules {
  static constexpr std::size_t kMaxPlaceholders = 64;
  static constexpr std::size_t kMaxHeaders = 64;
  static constexpr std::size_t kMaxTargets = 32;        // Of one placeholder.
  static constexpr std::size_t kMaxSecretName = 128;    // Bytes.
  static constexpr std::size_t kMaxHeaderName = 100;    // Bytes.
  static constexpr std::size_t kMaxHeaderValue = 8192;  // Bytes, of a secret and of a whole value.

  std::vector<PlaceholderRule> placeholders{};
  std::vector<HeaderRule> headers{};

  [[nodiscard]] bool empty() const { return placeholders.empty() && headers.empty(); }

  friend bool operator==(const CredentialRules&, const CredentialRules&) = default;
};

// The values by the names of their secrets.
using SecretValues = std::map<std::string, std::string, std::less<>>;

// What a placeholder may look like: 16 to 256 letters, digits, '_', '-' and '.', so that it passes
// wherever a token does.
bool is_placeholder(std::string_view text);

// A name of an environment variable: letters, digits and '_', not starting with a digit.
bool is_variable_name(std::string_view text);

// kInvalid for a name that is not a token (RFC 9110, 5.1), or that frames or routes a request, such
// as Host or Content-Length.
Result<void> check_header_name(std::string_view name);

// kInvalid for what no header can carry: control characters, a space at either end, more than
// kMaxHeaderValue bytes, nothing at all. The value is not shown.
Result<void> check_header_value(std::string_view value);

// The names in a HeaderRule::value, in their order; kInvalid for a lone brace or an empty name.
Result<std::vector<std::string>> secrets_in(std::string_view value);

// The text with the values of the secrets filled in. kNotFound names a secret that has no value,
// kInvalid one whose value no header can carry. Neither shows a value.
Result<std::string> fill_in(std::string_view value, const SecretValues& secrets);

// All secrets that the rules name, without repetition.
std::vector<std::string> secrets_of(const CredentialRules& rules);

// Removes the rules that name a secret without a value here.
void keep_rules_with(const SecretValues& secrets, CredentialRules& rules);

// All places that the rules send credentials to, as rules that allow to connect there.
std::vector<NetworkRule> places_of(const CredentialRules& rules);

// Whether requests to a host are read within TLS because of these rules.
bool needs_authority(const CredentialRules& rules);

// Chooses a placeholder wherever there is none: that of `before` for the same variable and secret,
// so that what guests hold stays good, or else a new random one.
Result<void> choose_placeholders(CredentialRules& rules, const CredentialRules& before = {});

}  // namespace glovebox
